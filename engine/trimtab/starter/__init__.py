"""What a new pack begins with: itself, its tests, and what CI, hooks and editors need to know of it."""

from .files import Start, starter_files
from .targets import TARGETS, Target

__all__ = ["TARGETS", "Start", "Target", "starter_files"]
