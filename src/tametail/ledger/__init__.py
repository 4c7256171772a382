"""The durable account of a data set's privacy budget."""
