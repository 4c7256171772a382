"""The mean of few records whose scale is known: find where they are, clamp, add up."""
