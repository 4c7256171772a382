"""The textbook's mean of bounded records: clamp, add up, add noise once."""
