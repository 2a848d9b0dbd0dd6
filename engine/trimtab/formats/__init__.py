"""Message formats: each module reads one host message into the inner shape and writes one item back."""
