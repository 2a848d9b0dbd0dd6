"""Looking templates up in their folders, compiling and rendering them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

from jinja2 import Template, TemplateSyntaxError
from jinja2.exceptions import TemplateError

from .constants import try_constants
from .filters import MAX_TEXT, TooLong, shown
from .folders import files_below, instead_of_a_file
from .problem import TemplateProblem
from .reads import Path_, parts_of, uses_of
from .sandbox import BUDGET, MAX_WORK, Metering, Sandbox, inspect, static_length, too_deep

MAX_SOURCE = 200_000
"""Characters of one template's source."""
_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FILE = "put a file there that can be read"
_NOTHING = object()


class Text:
    """A compiled text. ``variables`` are the names it reads, ``paths`` the same with their fields, dotted;
    ``required`` are those of ``paths`` for which it has no ``default`` and no ``is defined``.

    ``source_name`` is the template's name, or the file an inline text stands in; ``line_offset`` is added to
    the lines of an inline text.
    """

    __slots__ = (
        "_is_file",
        "_jinja",
        "_lines",
        "_make",
        "_parts",
        "includes",
        "line_offset",
        "paths",
        "required",
        "source",
        "source_name",
        "static_length",
        "variables",
    )

    def __init__(
        self,
        source: str,
        source_name: str,
        line_offset: int,
        uses: Mapping[Path_, tuple[int, bool]],
        includes: tuple[str, ...],
        parts: tuple[str | Path_, ...] | None,
        static_length: int,
        is_file: bool,
        make: Callable[[], Template],
    ) -> None:
        self.source = source
        self.source_name = source_name
        self.line_offset = line_offset
        self.includes = includes
        self.variables = frozenset(path[0] for path in uses)
        self.paths = frozenset(".".join(path) for path in uses)
        self.required = frozenset(".".join(path) for path, (_, needed) in uses.items() if needed)
        self._lines = {".".join(path): line for path, (line, _) in uses.items()}
        self._parts = parts
        self.static_length = static_length
        self._is_file = is_file
        self._make = make
        self._jinja: Template | None = None

    def __repr__(self) -> str:
        return f"Text({self.source_name!r})"

    @property
    def compiled(self) -> Template:
        """The template's code, made when first rendered: a check of a pack needs none."""
        if self._jinja is None:
            self._jinja = self._make()
        return self._jinja

    def line_of(self, path: str) -> int:
        """The line on which a name of ``paths`` is read first."""
        return self._lines.get(path, 1) + self.line_offset

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text for these variables, of which only those it reads are looked up.
        The text of a file ends without a line break.

        Raises TemplateProblem: a variable that is missing, output over 1,000,000 characters, too much work.
        """
        if self._parts is None:
            text = self._render(variables)
            return text.rstrip("\n") if self._is_file else text
        try:
            text = "".join(
                [part if type(part) is str else shown(self._value(part, variables)) for part in self._parts]
            )
        except (TypeError, ValueError, RecursionError) as error:
            if isinstance(error, TemplateProblem):
                raise
            raise self._problem("failed", f"a value that cannot be shown: {error}") from None
        if len(text) > MAX_TEXT:
            raise self._problem("too_long", f"the text has {len(text)} characters; {MAX_TEXT} are allowed")
        return text.rstrip("\n") if self._is_file else text

    def _value(self, path: str | Path_, variables: Mapping[str, Any]) -> Any:
        value: Any = variables
        for step in path:
            found = _NOTHING
            if isinstance(value, Mapping):
                try:
                    found = value[step]
                except KeyError:
                    found = _NOTHING
            if found is _NOTHING:
                known = sorted(map(str, value)) if isinstance(value, Mapping) else []
                raise self._undefined(path, step, known)
            value = found
        return value

    def _undefined(self, path: str | Path_, step: str, known: list[str]) -> TemplateProblem:
        dotted = ".".join(path)
        near = difflib.get_close_matches(step, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known[:20]) or 'nothing'}"
        message, line = f"{dotted} is not known here", self.line_of(dotted)
        return TemplateProblem("undefined", message, self.source_name, line, hint)

    def _problem(self, code: str, message: str, line: int = 1) -> TemplateProblem:
        return TemplateProblem(code, message, self.source_name, line + self.line_offset)

    def _render(self, variables: Mapping[str, Any]) -> str:
        given: dict[str, Any] = {BUDGET: [MAX_WORK]}
        for name in self.variables:
            try:
                given[name] = variables[name]
            except KeyError:
                continue
        chunks: list[str] = []
        size = 0
        try:
            for chunk in self.compiled.root_render_func(self.compiled.new_context(given)):
                chunks.append(chunk)
                size += len(chunk)
                if size > MAX_TEXT:
                    raise TooLong(f"the text has more than {MAX_TEXT} characters")
        except TemplateProblem:
            raise
        except TooLong as error:
            raise self._located("too_long", str(error), error.__traceback__) from None
        except TemplateError as error:
            code = "undefined" if type(error).__name__ == "UndefinedError" else "failed"
            raise self._located(code, str(error), error.__traceback__) from None
        # What operators and filters raise over data of another type than the template expects.
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
            raise self._located("failed", str(error), error.__traceback__) from None
        return "".join(chunks)

    def _located(self, code: str, message: str, trace: TracebackType | None) -> TemplateProblem:
        file, line = self.source_name, 1
        while trace:
            template = trace.tb_frame.f_globals.get("__jinja_template__")
            if isinstance(template, Template):
                line = template.get_corresponding_lineno(trace.tb_lineno)
                file = template.name or self.source_name
            trace = trace.tb_next
        offset = self.line_offset if file == self.source_name else 0
        return TemplateProblem(code, message, file, line + offset)


class Renderer:
    """Compiles inline texts, and templates by name from ``folders`` (the pack's own first)."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = tuple(folders)
        self._sandbox = Sandbox(self._compiled)
        self._texts: dict[str, Text] = {}
        self._loading: list[str] = []

    def names(self) -> list[str]:
        """The names of the templates in the folders, sorted; of a folder with very many, of some."""
        found = {name for folder in self.folders for name in files_below(folder)[0] if name.endswith(".j2")}
        return sorted(found)

    def text(self, source: str, source_name: str = "text", line_offset: int = 0) -> Text:
        """An inline text, compiled. Raises TemplateProblem."""
        return self._compile(source, source_name, line_offset, is_file=False)

    def template(self, name: str) -> Text:
        """A template file, compiled once. Raises TemplateProblem."""
        text = self._texts.get(name)
        if text is None:
            if name in self._loading:
                chain = " -> ".join([*self._loading, name])
                raise TemplateProblem("refused", f"templates include each other: {chain}", name)
            self._loading.append(name)
            try:
                text = self._texts[name] = self._compile(self._read(name), name, 0, is_file=True)
            finally:
                self._loading.pop()
        return text

    def _compiled(self, name: str) -> Template:
        return self.template(name).compiled

    def _length_of(self, name: str) -> int:
        return self.template(name).static_length

    def _read(self, name: str) -> str:
        parts = PurePosixPath(name).parts
        plain = bool(parts) and name == "/".join(parts) and all(_STEP.fullmatch(part) for part in parts)
        if not plain:
            hint = "write a path inside the templates folder, such as summary/short.md.j2"
            raise TemplateProblem("outside", f"not the name of a template: {name!r}", name, 1, hint)
        for folder in self.folders:
            path = folder.joinpath(*parts)
            try:
                if not path.is_file():
                    odd = instead_of_a_file(path)
                    if odd is None:
                        continue
                    raise TemplateProblem(
                        "missing", f"the template {name} is no file but {odd}", name, 1, _FILE
                    )
            except OSError as error:
                raise TemplateProblem(
                    "missing", f"the template {name} cannot be looked for: {error.strerror}", name
                ) from None
            if not path.resolve().is_relative_to(folder.resolve()):
                hint = "copy the file into the templates folder"
                raise TemplateProblem("outside", f"the template {name} is a link to elsewhere", name, 1, hint)
            try:
                if path.stat().st_size > 4 * MAX_SOURCE:
                    hint = "split it with {% include %}"
                    raise TemplateProblem("too_long", "the template is too large", name, 1, hint)
                return path.read_text("utf-8")
            except UnicodeDecodeError as error:
                line = error.object.count(b"\n", 0, error.start) + 1
                hint = "save the file as UTF-8"
                raise TemplateProblem("unreadable", f"{name} is not UTF-8", name, line, hint) from None
            except OSError as error:
                message = f"cannot read {name}: {error.strerror or error}"
                raise TemplateProblem("unreadable", message, name, 1, _FILE) from None
        near = difflib.get_close_matches(name, self.names(), 1)
        hint = (
            f"did you mean {near[0]}?" if near else "looked for in the pack's templates and the shared ones"
        )
        raise TemplateProblem("missing", f"there is no template {name}", name, 1, hint)

    def _compile(self, source: str, name: str, offset: int, *, is_file: bool) -> Text:
        if len(source) > MAX_SOURCE:
            message = f"the template has over {MAX_SOURCE} characters"
            raise TemplateProblem("too_long", message, name, 1 + offset)
        try:
            tree = self._sandbox.parse(source, name)
            inspect(tree, name, offset)
            try_constants(tree, self._sandbox, name, offset)
            includes: list[str] = []

            def included(inner: str, line: int) -> Iterator[tuple[Path_, bool]]:
                includes.append(inner)
                text = self._included(inner, name, line + offset)
                return ((tuple(path.split(".")), path in text.required) for path in text.paths)

            uses = uses_of(tree, included)
            parts = parts_of(tree)
            length = static_length(tree, self._length_of)
            if too_deep(tree):
                raise RecursionError
        except TemplateSyntaxError as error:
            raise TemplateProblem("syntax", error.message or "syntax", name, error.lineno + offset) from None
        except (SyntaxError, RecursionError, MemoryError):
            raise TemplateProblem("refused", "the template is nested too deeply", name, 1 + offset) from None
        except TemplateProblem:
            raise
        except ValueError as error:  # the lexer reads numbers without a guard of its own
            raise TemplateProblem("refused", f"a number cannot be read: {error}", name, 1 + offset) from None

        def make() -> Template:
            try:
                code = self._sandbox.compile(Metering(self._length_of).visit(tree), name, name)
            except (TemplateSyntaxError, SyntaxError, RecursionError, MemoryError) as error:
                raise TemplateProblem("refused", f"cannot be compiled: {error}", name, 1 + offset) from None
            return Template.from_code(self._sandbox, code, {}, None)

        return Text(source, name, offset, uses, tuple(dict.fromkeys(includes)), parts, length, is_file, make)

    def _included(self, included: str, name: str, line: int) -> Text:
        try:
            return self.template(included)
        except TemplateProblem as problem:
            if problem.code in ("missing", "outside"):
                raise TemplateProblem(problem.code, problem.message, name, line, problem.hint) from None
            raise
