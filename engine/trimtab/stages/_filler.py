"""The text that stands in a block's place, and the fields it sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from ..conversation.items import RESULT_TOKENS, USE_TOKENS
from ..policy.contents import bytes_in, in_strings
from ..policy.scene import Scene
from ..templating import Text
from ._preview import Cutter, Preview, sizes
from ._targets import Target
from ._variables import COMMON, Lazy, variables

BESIDES = frozenset({"type", "text", "cache_control"})
"""Fields of a block that becomes a text and may stay; all others go."""


class Change:
    """What a rewrite sets; equal ``key``, equal ``set``. ``chars`` and (estimated) ``tokens`` are the block's then."""

    __slots__ = ("chars", "key", "set", "text", "tokens")

    def __init__(self, key: Any, set: Mapping[str, Any], text: str, chars: int, tokens: int) -> None:
        self.key = key
        self.set = set
        self.text = text
        self.chars = chars
        self.tokens = tokens

    def size(self, unit: str) -> float:
        """Size in ``chars`` or ``bytes``."""
        return bytes_in(self.text) if unit == "bytes" else self.chars


class Filler:
    """Fills one stage's text for many blocks; what is the same for all of them is worked out once."""

    def __init__(
        self, scene: Scene, text: Text, preview: Preview | None, pattern: re.Pattern[str] | None
    ) -> None:
        self._scene = scene
        self._text = text
        self._common = variables(scene, text)
        self._reads = text.variables & OWN
        self._cutter: Cutter | None = None if preview is None else preview.cutter(scene)
        self._pattern = pattern
        self._fixed: str | None = text.render(self._common) if text.variables <= COMMON else None
        self._sets: dict[Any, Change] = {}
        self._strings: dict[str, Callable[[str], bool]] = {}
        self._count = scene.maker.count

    # --- one text

    def own(
        self, names: Set[str], target: Target, text: str, path: str | None = None, digest: str | None = None
    ) -> dict[str, Any]:
        """Those variables of ``replace`` (LANGUAGE §11) that are named, for one text of a block."""
        return self._own(names & OWN, target, text, self._cut(text), path, digest)

    def _cut(self, text: str) -> tuple[int, int]:
        return self._cutter.cut(text) if self._cutter is not None else (0, len(text))

    def _own(
        self,
        names: Set[str],
        target: Target,
        text: str,
        cut: tuple[int, int],
        path: str | None,
        digest: str | None,
    ) -> dict[str, Any]:
        end, start = cut
        found: dict[str, Any] = {}
        for name in names:
            if name == "size":
                found[name] = Lazy(sizes(text, self._scene.count))
            elif name == "elided":
                found[name] = Lazy(sizes(text[end:start], self._scene.count))
            elif name == "head":
                found[name] = text[:end]
            elif name == "tail":
                found[name] = text[start:]
            elif name == "path":
                found[name] = path
            elif name == "digest":
                found[name] = digest
            elif name == "id":
                found[name] = target.id
            elif name == "block":
                found[name] = target.kind
            else:
                call = target.call
                if name == "tool":
                    found[name] = None if call is None else call.name
                else:
                    found[name] = None if call is None else next(iter(self._scene.paths_of(call)), None)
        return found

    def _fill(self, target: Target, text: str, path: str | None, digest: str | None) -> str | None:
        """The text for one text of a block; None where the preview would show all of it anyway."""
        cut = self._cut(text)
        if self._cutter is not None and cut[0] >= cut[1] and text:
            return None
        if self._fixed is not None:
            return self._fixed
        return self._text.render({**self._common, **self._own(self._reads, target, text, cut, path, digest)})

    # --- one block

    def change(self, target: Target, path: str | None = None, digest: str | None = None) -> Change | None:
        """What to set; None where the text would not be used (LANGUAGE §10)."""
        if target.kind == "tool_use":
            return self._call(target, path, digest)
        if self._pattern is not None:
            return self._matches(target, self._pattern, path, digest)
        text = self._fill(target, target.text if self._fixed is None or self._cutter else "", path, digest)
        if text is None:
            return None
        known = self._whole(target, text)
        if target.chars and not (target.kind == "tool_result" and target.media):
            smaller = known.chars < target.chars and known.tokens <= target.tokens
        elif target.media:
            # A picture of few pixels counts few tokens and may still be what the API refuses.
            smaller = known.tokens < target.tokens or bytes_in(text) < target.size("bytes")
        else:
            smaller = False
        return known if smaller or (target.empty and text != target.text) else None

    def _whole(self, target: Target, text: str) -> Change:
        kind = target.kind
        extra: tuple[str, ...] = ()
        if kind != "tool_result":
            extra = tuple(sorted(field for field in target.data if field not in BESIDES))
        key = (kind == "tool_result", extra, text)
        known = self._sets.get(key)
        if known is None:
            tokens = self._count(text)
            if kind == "tool_result":
                fields: dict[str, Any] = {"content": text}
                tokens += RESULT_TOKENS
            elif kind == "text" and not extra:
                fields = {"text": text}
            else:
                fields = {"type": "text", "text": text, **dict.fromkeys(extra)}
            known = self._sets[key] = Change(key, fields, text, len(text), tokens)
        return known

    def _matches(
        self, target: Target, pattern: re.Pattern[str], path: str | None, digest: str | None
    ) -> Change | None:
        field = {"text": "text", "tool_result": "content"}.get(target.kind)
        if field is None:
            return None
        before = target.data.get(field)
        after = _in_parts(
            before, lambda text: pattern.sub(lambda one: self._match(target, one, path, digest), text)
        )
        if after == before:
            return None
        _, chars, tokens = self._scene.maker.block({**target.data, field: after})
        return Change((target.index, target.block), {field: after}, str(after), chars, tokens)

    def _match(self, target: Target, found: re.Match[str], path: str | None, digest: str | None) -> str:
        text = found[0]
        if not text:
            return text
        filled = self._fill(target, text, path, digest)
        return text if filled is None else filled

    def _call(self, target: Target, path: str | None, digest: str | None) -> Change | None:
        """Each string of a call's input by itself: keys and all that is no string stay as they are."""
        picks = self._picks(str(target.data.get("name")))
        pattern = self._pattern

        def fill(text: str) -> str:
            if not text or not picks(text):
                return text
            if pattern is not None:
                return pattern.sub(lambda found: self._match(target, found, path, digest), text)
            filled = self._fill(target, text, path, digest)
            if filled is None or len(filled) >= len(text) or self._count(filled) > self._count(text):
                return text
            return filled

        before = target.data.get("input")
        after = in_strings(before, fill)
        if after == before:
            return None
        chars, tokens, _ = self._scene.maker.measure(after)
        return Change((target.index, target.block), {"input": after}, str(after), chars, tokens + USE_TOKENS)

    def _picks(self, tool: str) -> Callable[[str], bool]:
        """Whether ``size`` means a string of this tool's inputs."""
        known = self._strings.get(tool)
        if known is None:
            select = self._scene.stage.select
            known = (lambda text: True) if select is None else select.strings(self._scene, tool)
            self._strings[tool] = known
        return known


OWN = frozenset({"id", "tool", "block", "file", "size", "head", "tail", "elided", "path", "digest"})
"""The variables of ``replace`` (LANGUAGE §11)."""


def _in_parts(content: Any, fill: Callable[[str], str]) -> Any:
    """A result's content with its text parts filled; images and documents stay."""
    if isinstance(content, str):
        return fill(content)
    if not isinstance(content, list | tuple):
        return content
    parts: list[Any] = []
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) else None
        parts.append({**part, "text": fill(text)} if isinstance(text, str) else part)
    return parts
