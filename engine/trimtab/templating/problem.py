"""The one error of this package."""

from __future__ import annotations


class TemplateProblem(ValueError):
    """A template that cannot be used or rendered.

    ``code`` is one of ``missing`` (no such file), ``outside`` (a name that leaves the folders),
    ``unreadable``, ``syntax``, ``refused`` (a construct templates do not have), ``undefined`` (a variable
    nobody gave), ``too_long`` (output or work over the cap) and ``failed``. ``file``: the template's name, or
    the file an inline text stands in; ``line`` counts from 1.
    """

    def __init__(self, code: str, message: str, file: str, line: int = 1, hint: str | None = None) -> None:
        super().__init__(f"{file}:{line}: {message}" + (f" ({hint})" if hint else ""))
        self.code = code
        self.message = message
        self.file = file
        self.line = line
        self.hint = hint
