"""The engine's version; packs ask for it with ``requires``."""

__version__ = "0.1.0"
