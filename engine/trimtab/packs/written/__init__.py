"""A pack as it was written: its text as a tree that keeps comments, quotes and styles, and can be printed again."""
