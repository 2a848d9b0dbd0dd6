"""Messages as items, their names, the edits over them and the view that results: pure functions over plain data."""
