"""Several columns, one winsorized mean each."""
