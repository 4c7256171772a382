"""Several columns, looked at one by one and summed together."""
