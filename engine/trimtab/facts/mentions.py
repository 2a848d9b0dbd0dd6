"""File names that occur in texts: a scanner that knows names by their endings, not by any language around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .host import Record

MENTIONS = "mentions"
"""The fact read from all words of the view, when it is asked for."""
_ENDINGS = """
    adoc asm astro avif bash bat bazel bib bmp bzl c cc cfg cjs class clj cljs cmake cmd conf config cpp cr cs csproj
    css csv cts cu cue cxx dart db diff dockerfile docx dylib ejs elm env erb erl ex exe exs f90 feature fish fs fsx
    gemspec gif go gql gradle graphql groovy gz h haml hbs hcl heex hh hpp hrl hs htm html hxx ico ini ino ipynb jar
    java jinja j2 jl jpeg jpg js json json5 jsonc jsonl jsx key kt kts less lean lhs liquid lisp lock log lua m4 make
    markdown md mdc mdx mermaid mjs mk ml mli mm mod mts mustache nim nix njk nsi odt org parquet patch pbxproj pdf pem
    php pl plist pm png po pot pp prisma profile properties proto ps1 psd1 psm1 pug puml pxd py pyc pyi pyx qml r rake
    rb rego resx rkt rmd rs rst ruby s sass sbt scala scm scss service sh sln so sol sql sqlite srt styl sum sv svelte
    svg swift tar tcl template tex text tf tfstate tfvars thrift tmpl toml tpl traj ts tsv tsx txt typ v vb vcxproj vhd
    vim vue wasm wat webmanifest webp wgsl whl xcf xhtml xls xlsx xml xsd xsl yaml yang yml zig zip zsh zst
"""
ENDINGS = frozenset(_ENDINGS.split())
"""Endings of files that people and agents work on; another one counts only behind a directory."""
_BARE = """
    Brewfile BUILD CHANGELOG CMakeLists Containerfile COPYING Dockerfile Gemfile GNUmakefile Jenkinsfile Justfile
    justfile LICENSE Makefile makefile Pipfile Podfile Procfile Rakefile README Vagrantfile WORKSPACE
"""
BARE = frozenset(_BARE.split())
"""Files that are known without an ending."""
LONGEST_NAME = 120
LONGEST_PATH = 300

_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,11})(?![A-Za-z0-9_])(?![.-][A-Za-z0-9_])")
"""The end of a name: found first, because most of a text has none."""
_LEFT = re.compile(r"[\w@+.~/\\-]*")
"""What paths are written with; matched backwards from an ending, and no further than the longest path."""
_BARE_NAME = re.compile(rf"(?:{'|'.join(sorted(BARE))})\b(?![.-]\w)")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003134f]+"
)
"""Scripts that are written without spaces, or whose endings stick to foreign words: a name may begin or end there."""


def paths_in(text: str) -> Iterator[str]:
    """The file paths in a text, in order, each as it is written; a bare name is a path too.

    A name counts by its ending (``ENDINGS``), as a file known without one, as a dot file, or with any short ending
    behind a directory. Hosts of addresses, calls (``res.json()``), sentences' ends and version numbers are none.
    """
    behind = 0
    for found in _ENDING.finditer(text):
        start, end = found.span()
        ending = found[1]
        known = ending.lower() in ENDINGS
        if not known and not (ending.islower() and "/" in text[max(0, start - LONGEST_PATH) : start]):
            continue
        path = _run(text, start, end, behind)
        if path is not None and (known or _behind_a_directory(path, ending)):
            behind = end
            yield path
    for found in _BARE_NAME.finditer(text):
        start, end = found.span()
        # Looked at behind the match: in front of the names it would be looked at everywhere.
        if not start or not (text[start - 1].isalnum() or text[start - 1] in "_.-"):
            path = _run(text, start, end, 0)
            if path is not None:
                yield path


def _run(text: str, start: int, end: int, behind: int) -> str | None:
    """The path that has its ending at ``start`` to ``end``; None if it is the host of an address, a call, or no name.

    In prose without spaces it begins ``behind`` the path before.
    """
    if text.startswith(("(", "://"), end):
        return None
    left = _LEFT.match(text[max(0, start - LONGEST_PATH) : start][::-1])
    assert left is not None
    begin = start - left.end()
    path = text[begin:end]
    if path.startswith("//") and text.startswith(":", begin - 1) and path.count("/") == 2:
        return None
    if not path.isascii():
        *_, path = _pieces(text[max(begin, behind) : end])
    name = name_of(path)
    stem = name[: name.rfind(".")] if "." in name else name
    named = any(char.isalnum() or char == "_" for char in stem) or path != name
    return path if named and name and len(name) <= LONGEST_NAME and len(path) > 2 else None


def _behind_a_directory(path: str, ending: str) -> bool:
    """Whether a name with an ending nobody knows, or none but a dot in front, is still a file's."""
    name = name_of(path)
    if name == f".{ending}":
        return len(ending) > 2 and path != name
    return "/" in path.strip("/") and len(ending) <= 6 and not path.startswith("//")


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _pieces(run: str) -> Iterator[str]:
    """The run, cut where a script without spaces meets another inside a name: prose touches names there."""
    if run.isascii():
        yield run
        return
    start = 0
    for found in _UNSPACED.finditer(run):
        before = run[start : found.start()]
        # Followed by a dot or a slash it is a name or a directory of its own.
        own = run.startswith((".", "/"), found.end())
        if "." in before and not before.endswith(("/", "\\")):
            yield before
            start = found.start()
        if not own:
            start = found.end()
    if start < len(run):
        yield run[start:]


def mentioned(messages: Iterable[tuple[int, Iterable[str]]], known: Iterable[str] = ()) -> list[Record]:
    """Records of the files that messages name, without those of the paths in ``known``.

    ``messages`` are serials with texts, in order. A record has ``name``, ``path`` (its newest form with a
    directory, if any), ``uses`` (how many messages name it) and the ``serial`` of the newest. Last stands what
    was named last; of what one message names, what is named in most.
    """
    found: dict[str, dict[str, Any]] = {}
    newest: dict[str, int] = {}
    for place, (serial, texts) in enumerate(messages):
        here: dict[str, str] = {}
        for text in texts:
            for path in paths_in(text):
                name = name_of(path)
                if "/" in path or name not in here:
                    here[name] = path
        for name, path in here.items():
            record = found.setdefault(name, {"name": name, "path": path, "uses": 0, "serial": serial})
            record["uses"] += 1
            record["serial"] = serial
            newest[name] = place
            if "/" in path:
                record["path"] = path
    for path in known:
        found.pop(name_of(path), None)
    return sorted(found.values(), key=lambda record: (newest[record["name"]], record["uses"]))
