"""From records to persons: one row for each, computed from their own records alone."""
