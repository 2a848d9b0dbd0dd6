"""The texts of the files; ``$name`` and its like are filled in."""

from __future__ import annotations

from string import Template

EXTENDING = Template(
    """\
# yaml-language-server: $$schema=schemas/pack.schema.json
format: 1
name: $name
version: 0.1.0
description: $description
requires: "$requires"
extends: [$base]
$changes"""
)
"""A pack that builds on another."""

CHANGES_OF_CLAUDE_CODE = """
settings:
  percent: 80      # of the usable window: compaction begins there; it can only lower what claude-code has

# Tools that stages may touch, by what they do; add what your agent calls its own:
# tools:
#   read: [Read, "mcp__docs__*"]

# A stage is changed by naming it; everything else of it stays. `trimtab show claude-code` lists them; give each change
# a case in tests/.
stages:
  - {id: idle-clear, when: {idle_minutes: {at_least: 30}}}    # old results go after half an hour, not after a whole one
"""

ALONE = Template(
    """\
# yaml-language-server: $$schema=schemas/pack.schema.json
format: 1
name: $name
version: 0.1.0
description: $description
requires: "$requires"

settings:
  share: 0.8       # of the window; compaction begins there
  shown: 5         # results that always stay

limits:
  auto: share * window

tools:             # what your agent calls its tools, by what they do
  read: [Read, read_file]
  edit: [Edit, Write, edit_file]
  shell: [Bash, shell]

facts:
  files:
    key: path
    from:
      - {tools: [read], take: {path: /file_path}, set: {read: true}}
      - {tools: [edit], take: {path: /file_path}, set: {edited: true}}
  commands: {from: [{tools: [shell], take: {command: /command}}]}

stages:
  # Cheapest first: old results go, if that frees enough to be worth the prompt cache.
  - id: clear
    kind: replace
    at: {before_request: {tokens: {at_least: auto}}}
    accept: {freed_share: {at_least: 0.2}}
    select: {blocks: [tool_result]}
    keep: {newest: {items: shown}}
    text: "[old result of {{ tool }} cleared]"
$stages
  # Then a summary; no model is asked: it is filled from facts and traffic.
  - id: compact
    kind: summarize
    at: {before_request: {tokens: {at_least: auto}}, overflow: {}, manual: {}}
    template: summary/ledger.md.j2
    keep: {newest: {tokens: {at_most: auto / 5}}}
"""
)
"""A pack of its own."""

TESTS = Template(
    """\
# yaml-language-server: $$schema=../schemas/test.schema.json
# What this pack promises, as cases that `trimtab test` runs. Numbers are of the model $model.
cases:
  - name: a short conversation is left alone
    given: {rounds: {count: 3}}
    model: $model
    expect: {${quiet}tokens: {below: $window}}
$more"""
)

THRESHOLD = Template(
    """
  - name: at {used} tokens the conversation is {verdict}
    table: [{used: $under, verdict: skipped}, {used: $auto, verdict: committed}]
    given: {rounds: {count: 40, result: {chars: $chars}}}
    model: $model
    usage: {input_tokens: "{used}"}
    answers: [unavailable]
    expect: {${limits}stages: {$stage: "{verdict}"}}
"""
)

IDLE = Template(
    """
  - name: after {minutes} idle minutes old results are {verdict}
    table:
      - {minutes: 29, now: "2030-01-02T10:29:00Z", verdict: skipped}
      - {minutes: 30, now: "2030-01-02T10:30:00Z", verdict: committed}
    given: {rounds: {count: 8, tool: Read, at: "2030-01-02T10:00:00Z"}}
    model: $model
    now: "{now}"
    expect: {stages: {idle-clear: "{verdict}"}}
"""
)

KEPT = Template(
    """
  - name: of forty results the newest five stay
    given: {rounds: {count: 40, result: {chars: $chars}}}
    model: $model
    usage: {input_tokens: $auto}
    expect: {stages: {clear: {verdict: committed, items: 35}}}
"""
)

WORKFLOW = Template(
    """\
# Belongs into .github/workflows at the root of the repository; paths are from there.
name: packs
on: [push, pull_request]
permissions: {contents: read}
jobs:
  packs:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install "trimtab$requires"
      - run: trimtab check --format github --strict $folder
      - {if: always(), run: trimtab test --format github $folder}
      - {if: always(), run: trimtab fmt --check $folder}
"""
)

HOOKS = Template(
    """\
# Belongs into .pre-commit-config.yaml at the root of the repository.
repos:
  - repo: local
    hooks:
      - {id: trimtab-check, name: trimtab check, entry: trimtab check --strict, files: '(^|/)pack\\.yaml$$',
         language: python, additional_dependencies: ["trimtab$requires"]}
      - {id: trimtab-test, name: trimtab test, entry: trimtab test $folder, pass_filenames: false,
         files: '(^|/)(pack\\.yaml|tests/[^/]+\\.yaml|templates/.+\\.j2)$$',
         language: python, additional_dependencies: ["trimtab$requires"]}
      - {id: trimtab-fmt, name: trimtab fmt, entry: trimtab fmt --check, files: '(^|/)pack\\.yaml$$',
         language: python, additional_dependencies: ["trimtab$requires"]}
"""
)
