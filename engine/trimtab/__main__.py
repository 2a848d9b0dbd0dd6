"""``python -m trimtab`` is ``trimtab``."""

from __future__ import annotations

from .commands import main

if __name__ == "__main__":
    main()
