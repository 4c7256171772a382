"""The winsorized mean of one column."""
