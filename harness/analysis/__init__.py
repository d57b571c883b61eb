"""What the results say: which loads count, medians, intervals, causes, prediction. Reads files only."""
