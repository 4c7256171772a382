"""Several columns, one winsorised mean each."""
