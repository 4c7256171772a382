"""The winsorised mean of one column."""
