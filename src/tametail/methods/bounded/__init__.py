"""The mean of bounded records: clip, add up, add noise once."""
