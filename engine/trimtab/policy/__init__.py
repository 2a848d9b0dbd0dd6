"""What a pack says, compiled: expressions, conditions, metrics, selection, gates, history."""
