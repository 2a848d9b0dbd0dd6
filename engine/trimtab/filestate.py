"""What an agent has read of which file: the guard that an edit needs a fresh read, and what a run makes void.

The engine keeps no such state itself; hosts do. ``FileStates`` is the state for a host that has none of its
own, ``Cleared`` what every host needs after a run: which reads the model no longer sees.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from operator import is_
from typing import TYPE_CHECKING, Any

from .conversation.items import Item, blocks_of
from .conversation.view import Call, is_media
from .facts import text_of

if TYPE_CHECKING:
    from .policy.scene import Scene
    from .policy.stage import Stage

ENTRIES = 100
"""Files remembered at most; the one that was not used for longest goes first (REFERENCE R38)."""
BYTES = 25 * 1024 * 1024
"""Bytes of content remembered at most, all files together (REFERENCE R38)."""

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as it was last read or written.

    ``mtime`` is in seconds since 1970, as the host's disk gives it; ``offset`` and ``limit`` are lines, None
    where the whole file was asked for. ``is_partial_view``: the model has seen only a part of it.
    """

    path: str
    content: str
    digest: str
    size: int
    mtime: float | None = None
    offset: int | None = None
    limit: int | None = None
    is_partial_view: bool = False


@dataclass(frozen=True, slots=True)
class Cleared:
    """What the model saw in the request before a run and does not see whole in the one after it.

    ``tool_ids`` are the calls whose results are gone or shortened, in their order; ``paths`` the files of which
    no read is shown whole any more, as the calls named them. ``compacted``: a summary has taken the place of
    the conversation; every read state is void then, also of files whose reads stand in the kept tail.
    """

    tool_ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    compacted: bool = False

    def __bool__(self) -> bool:
        return bool(self.tool_ids or self.paths or self.compacted)


class FileStates:
    """Read states by normalised path, least recently used first out. ``root`` completes relative paths."""

    __slots__ = ("_bytes", "_states", "entries", "root", "size")

    def __init__(self, root: str = "", *, entries: int = ENTRIES, size: int = BYTES) -> None:
        self.root = root
        self.entries = entries
        self.size = size
        self._states: OrderedDict[str, FileState] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[FileState]:
        """The states, the one used last at the end."""
        return iter(tuple(self._states.values()))

    def __contains__(self, path: str) -> bool:
        return self.key(path) in self._states

    @property
    def bytes(self) -> int:
        """Bytes of content held, as UTF-8."""
        return self._bytes

    def key(self, path: str) -> str:
        """The path all spellings of one file share; the disk is not asked, so symlinks stay apart."""
        return normalised(path, self.root)

    def put(
        self,
        path: str,
        content: str,
        *,
        mtime: float | None = None,
        offset: int | None = None,
        limit: int | None = None,
        partial: bool | None = None,
    ) -> FileState:
        """Remember what was read or written; older states make room. Larger than all room: it is not kept.

        ``partial`` says whether only a part was seen; None: it is, where an offset or a limit was given.
        """
        data = content.encode("utf-8", "surrogatepass")
        seen = (offset is not None or limit is not None) if partial is None else partial
        digest = blake2b(data, digest_size=12).hexdigest()
        key = self.key(path)
        state = FileState(key, content, digest, len(data), mtime, offset, limit, seen)
        self.drop(path)
        if len(data) <= self.size and self.entries > 0:
            self._states[key] = state
            self._bytes += len(data)
            while len(self._states) > self.entries or self._bytes > self.size:
                self._bytes -= self._states.popitem(last=False)[1].size
        return state

    def get(self, path: str) -> FileState | None:
        """The state of a file, which counts as used now; None if it was never read, or forgotten."""
        key = self.key(path)
        if key in self._states:
            self._states.move_to_end(key)
        return self._states.get(key)

    def why_not_edit(self, path: str, mtime: float | None = None) -> str | None:
        """Why the file must be read before it may be edited, for the model; None: it may be edited.

        ``mtime`` is the file's present one; None leaves that comparison out.
        """
        state = self.get(path)
        if state is None:
            return "it has not been read in this conversation, or what was read is no longer shown"
        if state.is_partial_view:
            return "only a part of it has been read"
        if mtime is not None and state.mtime is not None and mtime != state.mtime:
            return "it has changed since it was read"
        return None

    def drop(self, path: str) -> None:
        """Forget one file."""
        state = self._states.pop(self.key(path), None)
        if state is not None:
            self._bytes -= state.size

    def clear(self) -> None:
        """Forget all files."""
        self._states.clear()
        self._bytes = 0

    def forget(self, cleared: Cleared) -> None:
        """Forget what a run made void: after a full compaction everything, else the files it names."""
        if cleared.compacted:
            self.clear()
        for path in cleared.paths:
            self.drop(path)

    def clone(self) -> FileStates:
        """The same states for a sub-agent; what either does from now on is its own."""
        twin = FileStates(self.root, entries=self.entries, size=self.size)
        twin._states = OrderedDict(self._states)
        twin._bytes = self._bytes
        return twin

    def records(self) -> list[dict[str, Any]]:
        """The states as records of the fact ``files``, the one used last at the end."""
        fields = ("path", "offset", "limit")
        return [
            {name: value for name in fields if (value := getattr(state, name)) is not None} | {"read": True}
            for state in self._states.values()
        ]


def normalised(path: str, root: str = "") -> str:
    """A path without ``.`` and ``..``, relative ones below ``root``; Windows paths in one case and slash."""
    if _WINDOWS.match(path) or _WINDOWS.match(root):
        return ntpath.normcase(ntpath.normpath(ntpath.join(root, path)))
    path = posixpath.normpath(posixpath.join(root, path))
    return "/" + path.lstrip("/") if path.startswith("//") else path


def is_full_compaction(stage: Stage | None) -> bool:
    """Whether a commit of this stage takes the place of the conversation: a ``summarize``, not span by span."""
    return stage is not None and stage.kind == "summarize" and getattr(stage.params, "spans", None) is None


def cleared_between(before: Scene, after: Scene, compacted: bool = False) -> Cleared:
    """What the view of ``after`` no longer shows of what the view of ``before`` (the same path) did."""
    old, new = before.view.items, after.view.items
    # Nearly every run: no need to look at each item.
    if old is new or (len(old) == len(new) and all(map(is_, old, new))):
        return Cleared(compacted=compacted)
    standing = {id(item) for item in new}
    lost = [
        (item.serial, name)
        for item in old
        if item.results and id(item) not in standing
        for name in _lost(item, after)
    ]
    if not lost:
        return Cleared(compacted=compacted)
    return Cleared(tuple([name for _, name in lost]), _void_paths(before, after, set(lost)), compacted)


def _lost(item: Item, after: Scene) -> list[str]:
    """The results of a message that it does not show whole any more."""
    index = after.view.index_of(item.serial)
    shown = {} if index is None else _results(after.view.items[index])
    return [name for name, content in _results(item).items() if not _whole(content, shown.get(name, _GONE))]


_GONE = object()


def _results(item: Item) -> dict[str, Any]:
    return {
        str(block.get("tool_use_id")): block.get("content")
        for block in blocks_of(item.message)
        if block.get("type") == "tool_result"
    }


def _whole(original: Any, shown: Any) -> bool:
    """Whether a result still says all it did; a mark that a stage put behind it takes nothing away."""
    if shown is _GONE or original == shown:
        return shown is not _GONE
    return text_of(original) in text_of(shown) and _media(original) == _media(shown)


def _media(content: Any) -> int:
    return sum(1 for part in content if is_media(part)) if isinstance(content, list) else 0


def _void_paths(before: Scene, after: Scene, lost: set[tuple[int, str]]) -> tuple[str, ...]:
    """Paths of the lost reads of which no other read is shown whole."""
    paths: dict[str, None] = {}
    for call in before.view.calls:
        if call.result is not None and (before.view.items[call.result[0]].serial, call.id) in lost:
            paths.update(dict.fromkeys(_read_by(before, call)))
    base, view = after.base, after.view
    for call in view.calls if paths else ():
        if call.result is None:
            continue
        original = base.index_of(view.items[call.result[0]].serial)
        said = _results(base.items[original]) if original is not None else {}
        if call.id in said and _whole(said[call.id], view.block(*call.result).get("content")):
            for path in _read_by(after, call):
                paths.pop(path, None)
    return tuple(paths)


def _read_by(scene: Scene, call: Call) -> list[str]:
    return [
        path
        for record in scene.files_of(call)
        if record.get("read") and isinstance(path := record.get("path"), str)
    ]


__all__ = [
    "BYTES",
    "ENTRIES",
    "Cleared",
    "FileState",
    "FileStates",
    "cleared_between",
    "is_full_compaction",
    "normalised",
]
