"""Templates: texts with holes for plain data, which call nothing and cannot run away (LANGUAGE §1, §11)."""

from __future__ import annotations

from .fencing import fence, mark, without_labels
from .problem import TemplateProblem
from .renderer import Renderer, Text
from .sharing import shares

__all__ = ["Renderer", "TemplateProblem", "Text", "fence", "mark", "shares", "without_labels"]
