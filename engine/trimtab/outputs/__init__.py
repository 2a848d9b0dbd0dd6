"""How results look: one format a module. Nothing here decides anything."""
