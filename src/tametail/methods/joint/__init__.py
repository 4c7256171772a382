"""The means of several columns, pulled into a ball."""
