"""Codes about the file, merging, shapes, names and templates: what keeps a pack from being read."""

from __future__ import annotations

from .code import ERROR, Code, judged

_FILE = {
    "file": Code(
        "a file or folder that cannot be read",
        "It is not there, it is something else than a file, or its rights forbid reading it.",
        "Name a file, or a folder that holds `pack.yaml`.",
    ),
    "encoding": Code(
        "the file is not UTF-8 text",
        "A pack means the same everywhere only if its bytes are read in one way.",
        "Save the file as UTF-8.",
    ),
    "too-large": Code(
        "the file is beyond the limits on size, depth or number of values",
        "A check has to end soon, whatever it is given.",
        "Split the pack with `extends`, or name parts of it in `limits`.",
    ),
    "yaml": Code(
        "the text is not YAML",
        "The parser stops at this place and knows nothing of what follows.",
        "Check brackets, colons and indentation; quote texts with special signs.",
    ),
    "yaml-tab": Code(
        "a tab; YAML is indented with spaces",
        "How wide a tab is depends on who looks.",
        'Use spaces; in a text write `"\\t"`. `check --fix` does it for indentation.',
    ),
    "yaml-duplicate-key": Code(
        "a key stands twice in one mapping",
        "Most readers of YAML silently take the last one.",
        "Keep one of the two.",
    ),
    "yaml-null": Code(
        "an empty value or null",
        "Nothing in a pack means nothing: a key without a value is most often a slip.",
        'Give it a value or leave the key out; an empty text is `""`.',
    ),
    "yaml-alias": Code(
        "an anchor or an alias",
        "A value that stands elsewhere cannot be merged or told of at its place.",
        "Write the value out, or use `extends`, `limits` or `defaults`.",
    ),
    "yaml-tag": Code(
        "a tag", "Values are plain data; a tag would make something else of them.", "Remove it."
    ),
    "yaml-key": Code(
        "a key that is not a text",
        "A number, a switch or a list as a key is a slip, or an unquoted template.",
        "Quote the key.",
    ),
    "yaml-comma": Code(
        "an unquoted expression that flow style splits at a comma",
        "Inside `{…}` and `[…]` a comma ends the value, also between the arguments of a function.",
        "Quote the expression, or name it in `limits`. `check --fix` quotes it.",
    ),
    "yaml-number": Code(
        "a number in a spelling that YAML versions read differently",
        "`010` is eight for one reader and ten for another.",
        "Write it plainly, or quote it if it is a text.",
    ),
    "layout": Code(
        "a text that `fmt` and `migrate` cannot write anew without changing what it says",
        "Comments and line breaks stand where they cannot be kept.",
        "Write it in plain block style.",
    ),
}

_MERGING = {
    "format": Code(
        "a version of the pack language this engine does not read",
        "A later version may mean something else by the same keys.",
        "Write `format: 1`, or install an engine that reads it.",
    ),
    "requires": Code(
        "the pack needs another version of the engine",
        "`requires` is looked at before anything else.",
        "Install a version that fits, or widen `requires`.",
    ),
    "extends": Code(
        "a pack to build on that is missing or that leads back to itself",
        "Without it nobody knows what the pack says.",
        "Name a pack that ships or is installed, or a path relative to the file.",
    ),
    "stage-id": Code(
        "an id that is missing, stands twice, or names a stage that does not exist",
        "Stages merge, and are told of, by their ids.",
        "Give each stage an id of its own; a new stage needs its `kind`.",
    ),
    "set": Code(
        "a value set from outside that has no place in the pack",
        "`--set` changes what is there.",
        "Name a place as `trimtab show --resolved` shows it.",
    ),
}

_SHAPES = {
    "type": Code(
        "a value of another type is needed here",
        "The schema says of each key what it holds.",
        "Write a value of that type; the hint shows one.",
    ),
    "value": Code(
        "a value of the right type that is not allowed here",
        "It is outside the range or the list of what may stand here.",
        "Choose one that the hint names.",
    ),
    "unknown-key": Code(
        "a key this mapping does not have",
        "A misspelt key would otherwise do nothing, silently.",
        "Correct it; `check --fix` does where only one key is near.",
    ),
    "missing-key": Code(
        "a key that must be there",
        "Without it the mapping means nothing.",
        "Add it. `check --fix` adds `stages: []`.",
    ),
    "one-of": Code(
        "keys of which exactly one must stand, and none or several do",
        "Two of them would contradict each other.",
        "Keep one; an inherited one goes with `reset`.",
    ),
    "unknown-kind": Code(
        "a kind of stage that does not exist",
        "The kind decides what the other keys mean.",
        "Choose one of `trimtab kinds`.",
    ),
    "unknown-metric": Code(
        "a metric that does not exist, or not here",
        "A condition over nothing would never hold.",
        "Choose one of `trimtab metrics`; those of an edit are known in `accept` only.",
    ),
}

_NAMES = {
    "name": Code(
        "a name that is reserved, taken or not in the required spelling",
        "Expressions and conditions tell things apart by their names alone.",
        "Choose another name in snake_case; ids of stages are kebab-case.",
    ),
    "expression": Code(
        "an expression that cannot be read",
        "It has a sign or a word that expressions do not have.",
        "Use numbers, names, `+ - * /`, parentheses, `min max clamp floor ceil` and `A if C else B`.",
    ),
    "unknown-name": Code(
        "a name in an expression that nothing defines",
        "It is no setting, limit, metric or reserved name.",
        "Correct it, or declare it under `settings` or `limits`.",
    ),
    "name-type": Code(
        "a boolean or a text where an expression needs a number, or the reverse",
        "Nothing is converted silently.",
        "Compare numbers; choose with `A if B else C`.",
    ),
    "limit-cycle": Code(
        "limits that are worked out from each other",
        "None of them ever gets a value.",
        "Give one of them a value that does not need the others.",
    ),
    "unknown-stage": Code(
        "a stage that does not exist",
        "`committed`, `since`, `notes` and places go by ids.",
        "Correct the id.",
    ),
    "unknown-setting": Code(
        "a setting that does not exist",
        "A model entry or a condition would change or ask for nothing.",
        "Correct it, or declare it under `settings`.",
    ),
    "unknown-limit": Code("a limit that does not exist", "Only declared limits can be named.", "Correct it."),
    "unknown-category": Code(
        "a category of tools that `tools` does not have",
        "Stages and facts know tools by category only.",
        "Correct it, or declare it under `tools`.",
    ),
    "unknown-fact": judged(
        "a fact that neither the pack declares nor a host gives",
        "Nothing would ever be in it.",
        "Correct it, or declare it under `facts`.",
        ERROR,
    ),
    "pattern": Code(
        "a regular expression that cannot be read or is refused",
        "Look-around, back-references and nested repetition may take for ever.",
        "Write a plainer pattern.",
    ),
    "unknown-value": judged(
        "globs of which none fits anything that can occur",
        "The words of this text are known, and this is none of them.",
        "Choose one that the hint names.",
        ERROR,
    ),
}

_TEMPLATES = {
    "template-missing": judged(
        "a template file that is in none of the pack's folders",
        "Its stage would fail whenever it runs.",
        "Correct the name, or write the file under `templates/` beside the pack.",
        ERROR,
    ),
    "template-outside": Code(
        "a path that leads out of the pack",
        "Packs read their own files only.",
        "Move the file into the pack's `templates/`.",
    ),
    "template-syntax": Code(
        "a template that cannot be read or is refused by the sandbox",
        "Templates fill in texts; they call nothing.",
        "Close what is open; use filters instead of calls.",
    ),
    "template-variable": judged(
        "a variable the stage does not give to its template",
        "Its stage would fail whenever the text is rendered.",
        "Correct it; the hint has what is near, or all there is.",
        ERROR,
    ),
    "unused-template": judged(
        "a template of the pack that nothing uses",
        "It was forgotten, or the stage that should use it names another.",
        "Remove the file, or use it.",
    ),
}

FORM = _FILE | _MERGING | _SHAPES | _NAMES | _TEMPLATES
"""All of them."""
