"""Where the secrets of a text are, told by their form and by the names they are given to."""
