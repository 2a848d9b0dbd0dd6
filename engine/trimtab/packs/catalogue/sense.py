"""Codes about what keys mean together, what a made-up session shows, a session given, and comments."""

from __future__ import annotations

from .code import ERROR, INFO, WARNING, Code, judged

SENSE = {
    "target-above-trigger": judged(
        "a target at or above the trigger: the stage would fire on every call",
        "What is left after the stage is still due for it.",
        "Lower the target, or raise the trigger.",
        ERROR,
    ),
    "trigger-above-window": judged(
        "a trigger no request can reach, as it lies above the model's window",
        "The API refuses the request before the stage is due.",
        "Lower the trigger: a share such as `0.8 * window`, or what must remain, `window - 20000`.",
    ),
    "negative-limit": judged(
        "a limit that comes out below 0 for every model",
        "It has no value, and a condition that asks for it never holds: the stage never runs, without a word.",
        "Raise it above 0.",
        ERROR,
    ),
    "keep-above-window": judged(
        "more is kept than the model's window holds",
        "Nothing is ever left for the stage to take.",
        "Keep a share, such as `0.2 * window`.",
    ),
    "unit": judged(
        "a number that cannot be meant in this unit",
        "A share where tokens are counted is always reached; a percentage where a share is meant, never.",
        "Write the share of something, such as `0.8 * window`, or choose the key of the unit you mean.",
        ERROR,
    ),
    "unreachable": judged(
        "conditions that can never hold together",
        "The stage never runs, whatever the conversation.",
        "Remove one of the two conditions, or put them under `any`.",
        ERROR,
    ),
    "always-due": judged(
        "a setting that makes a stage fire on every call",
        "The trigger worked out from it is 0.",
        "Give the setting another value; `enabled: false` switches a stage off.",
    ),
    "shadowed": judged(
        "a stage that an earlier one leaves nothing to do",
        "The earlier one has the same candidates and is due whenever this one is.",
        "Remove it, put it first, or narrow the earlier one.",
    ),
    "summarizer-window": judged(
        "a writing model whose window is smaller than what it is given",
        "Each call would be too long, and is not even sent.",
        "Choose a model with a larger window, lower the trigger, or add a `ladder`.",
    ),
    "placeholder-longer": judged(
        "a text that is longer than the least it replaces",
        "A text that is not shorter is not used: these blocks are chosen for nothing.",
        "Shorten the text, or raise `size`.",
    ),
    "unread-results": judged(
        "a stage that replaces results nobody has read",
        "Without an age, a size, a `keep` or a relation the newest result is a candidate, too.",
        "Add `keep: {newest: {items: 5}}` or `age: {rounds: {at_least: 1}}`.",
    ),
    "grows-for-ever": judged(
        "an attachment that comes anew with every request",
        "Nothing says when it has been told, so the conversation fills with it.",
        "Give its entries `repeat`, or the stage a condition on `since` or `committed`.",
    ),
    "user-words-lost": judged(
        "a summary that keeps no words of the user",
        "What the user asked for lives on only in a model's retelling.",
        "Keep a tail, add a part `messages` or a section that is grounded in `user_messages`.",
    ),
    "long-ladder": judged(
        "a ladder of more than 20 calls of a model",
        "Each rung is a call that is paid for and waited for.",
        "Take larger steps, or lower `times`.",
    ),
    "needs-a-model": judged(
        "a `first_of` whose last child needs a model",
        "Without a model nothing is left to make room.",
        "Add a last child that needs none, such as a `drop` or a summary by `template`.",
        INFO,
    ),
    "events": judged(
        "a stage or an event at which it can do nothing",
        "What it looks for is known only at another event.",
        "Add that event to `at`, or drop the key.",
        ERROR,
    ),
    "unused-default": judged(
        "a default that no child takes", "Every child sets it, or none has it.", "Remove it."
    ),
    "unused-setting": judged(
        "a setting that nothing in the pack uses, perhaps a misspelt one",
        "In a file that extends another, a misspelt name is a new one.",
        "Correct or remove it.",
    ),
    "unused-limit": judged(
        "a limit that nothing in the pack uses, perhaps a misspelt one",
        "In a file that extends another, a misspelt name is a new one.",
        "Correct or remove it.",
    ),
    "unused-category": judged(
        "a category of tools that nothing in the pack uses, perhaps a misspelt one",
        "In a file that extends another, a misspelt name is a new one.",
        "Correct or remove it.",
    ),
    "unused-fact": judged(
        "a fact that nothing in the pack uses, perhaps a misspelt one",
        "In a file that extends another, a misspelt name is a new one.",
        "Correct or remove it.",
    ),
    "place": Code(
        "a place or key that does not go with the rest of its stage",
        "The two say different things.",
        "Remove one of them.",
    ),
    "kind-not-available": judged(
        "a stage whose kind this engine checks but does not run yet", "It is skipped.", "Nothing.", INFO
    ),
}

REHEARSED = {
    "thrash": judged(
        "a stage that fires on call after call of a made-up session",
        "What it takes away does not end what makes it due; each time costs a model's call or the cache.",
        "Keep less, or ask for more with `accept`, until the rest lies well below the trigger.",
        ERROR,
    ),
    "cache-hostile": judged(
        "a pack that changes something already sent on most calls of a made-up session",
        "Behind the first change nothing comes from the prompt cache. In a measurement, clearing just enough"
        " on each turn cost 36 % more than doing nothing; clearing down to half the budget saved 45 %.",
        "Clear rarely and much: a trigger, `fit` at half of it, or `accept: {items: {at_least: 10}}`.",
    ),
}

AGAINST = {
    "unknown-tool": judged(
        "tools of the session given with `--against` that no category names",
        "Stages and facts that go by category overlook their results.",
        "Add them to a category under `tools`, if a stage should treat them so.",
        INFO,
    ),
    "unmatched-category": judged(
        "globs of a category that match no tool of the session",
        "The host may call its tools otherwise, and the stages of the category do nothing.",
        "Correct the globs; the hint names what is near.",
    ),
}

FOR_MODEL = {
    "model-cannot": judged(
        "a stage that asks for what the model given with `--model`, or its API, does not have",
        "The stage is skipped, or its edit refused, in every run with that model.",
        "Name the models it is for in its `when: {model: […]}`, or remove it.",
    ),
}

COMMENTS = {
    "allow": Code(
        "an `allow` comment that names no code or gives no reason",
        "Who reads it later wants to know why.",
        "Write `# trimtab: allow CODE, reason`.",
        WARNING,
    ),
    "unused-allow": Code(
        "an `allow` comment that silences nothing",
        "The finding is gone, or stands on another line.",
        "Remove the comment.",
        WARNING,
    ),
}
