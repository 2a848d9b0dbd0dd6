"""Changes to a tree, for migrations: keys renamed, values replaced, entries added and taken out."""

from __future__ import annotations

from .reading import read_written
from .tree import Collection, Entry, Leaf


def rename(found: Collection, old: str, new: str) -> bool:
    """Give the key another name where it stands; whether there was one."""
    entry = found.entry(old)
    if entry is None:
        return False
    entry.key = Leaf(new, new)
    return True


def remove(found: Collection, key: str) -> Entry | None:
    """Take an entry out, and what was remarked on it; None if there is none."""
    entry = found.entry(key)
    if entry is not None:
        found.entries.remove(entry)
    return entry


def replace(entry: Entry, source: str) -> None:
    """Give an entry another value, written as YAML in flow style; the comment behind it stays."""
    entry.value = _entry(f"key: {source}").value
    entry.below = False


def add(found: Collection, key: str, source: str, after: str = "") -> Entry:
    """Add a key with its value, written as YAML in flow style, behind the key ``after`` or at the end."""
    entry = _entry(f"{key}: {source}")
    names = [each.name for each in found.entries]
    found.entries.insert(names.index(after) + 1 if after in names else len(names), entry)
    return entry


def _entry(text: str) -> Entry:
    root = read_written(text).root
    assert isinstance(root, Collection)
    return root.entries[0]
