"""One module for each API: its rules in order, and its numbers."""
