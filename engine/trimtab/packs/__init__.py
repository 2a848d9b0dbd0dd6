"""From YAML to a compiled pack: reading, merging, checking, building."""
