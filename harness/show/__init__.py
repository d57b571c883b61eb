"""From analysis to table, figures and HTML."""
