"""Small packs for tests of the session, and the shipped ones over a small window."""

from __future__ import annotations

from typing import Any

from trimtab import Engine, Pack, PackError
from trimtab.packs.load import check_text, list_packs

LAYERS = """
format: 1
name: layers
version: 1.0.0
tools: {read: [Read], shell: [Bash]}
stages:
  - {id: offload, kind: replace, at: [tool_result, before_request], once: true, store: results,
     select: {blocks: [tool_result], size: {chars: {above: 300}}}, preview: {head: {chars: 40}},
     text: "<persisted {{ size.chars }}> {{ head }}"}
  - {id: clear, kind: replace, select: {blocks: [tool_result], size: {chars: {above: 10}}}, keep: {newest: {items: 3}},
     accept: {items: {at_least: 4}}, text: "[cleared]"}
  - {id: shrink, kind: summarize, at: {before_request: {messages: {at_least: 16}}}, keep: {newest: {messages: 5}},
     text: "Summary of what came before."}
"""
SHIPPED = [shipped.name for shipped in list_packs()]
"""The names of the packs that come with the engine."""
TINY = {"*": {"window": 900.0, "max_output": 100.0}}
"""So small that conversations of a dozen messages are due for everything a pack can do."""


def pack_of(text: str) -> Pack:
    report = check_text(text)
    if report.pack is None:
        raise PackError(report.problems)
    return report.pack


def engine_of(text: str = LAYERS, **keywords: Any) -> Engine:
    return Engine(pack_of(text), **keywords)
