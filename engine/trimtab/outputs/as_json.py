"""JSON for programs: one value, two spaces of indent, a newline at the end."""

from __future__ import annotations

import json
from typing import Any

from ..receipt import plain


def dumps(value: Any) -> str:
    """The value as JSON text. Lone surrogates stay escapes, so that the text can be written as UTF-8."""
    try:
        text = json.dumps(plain(value), indent=2, ensure_ascii=False)
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain(value), indent=2)
    return text
