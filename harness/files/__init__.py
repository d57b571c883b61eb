"""The formats that the steps hand each other: .pages, text log, hack_dns, server log, the records in client/."""
