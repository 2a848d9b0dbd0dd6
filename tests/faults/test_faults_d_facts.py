"""Group D of the field reports, what is lost or invented: paths, quotes, constraints, exact values."""

from __future__ import annotations

import pytest
from tests.faults.support import round_of, rounds, shown, user, verdict
from tests.faults.test_faults_d_summary import writes, written

FACTS = (
    "tools: {read: [Read]}\n"
    "facts:\n"
    "  files: {key: path, from: [{tools: [read], take: {path: /file_path}}]}\n"
    "  constraints: {from: [{origins: [user], take: {text: {pattern: '(?im)^(.*never.*)$', in: /text}}}]}\n"
)


def pack(more: str) -> str:
    head, stages = writes(more).split("stages:\n")
    return f"{head}{FACTS}stages:\n{stages}"


def session() -> list[dict[str, object]]:
    return [
        user("Find the leak. Never touch the schema."),
        *round_of("p", "class Pool: ...\nsee also worker.go", "Read", file_path="/proj/src/pool.py"),
        *rounds(10, 3000),
    ]


GATE = ", expects: {invented: 0}, ground: {sections: {All user messages: user_messages}}"
GOOD = 'The leak is in src/pool.py.\n\n6. All user messages:\n- "Find the leak."\n'


def test_d5_a_text_whose_paths_and_quotes_are_known_is_taken() -> None:
    outcome, _ = written(pack(GATE), session(), GOOD)
    assert verdict(outcome, "sum-up") == "committed"


@pytest.mark.parametrize(
    "answer",
    [
        GOOD + "It was moved to src/connection_pool.py.",
        GOOD + "It is in lib/pool.py.",
        GOOD + '- "Delete the whole schema now."',
        GOOD + "7. Pending tasks:\nThe user said: “please drop all of the tables”.",
    ],
)
def test_d5_an_invented_path_or_quote_is_found_and_the_view_stays(answer: str) -> None:
    messages = session()
    outcome, _ = written(pack(GATE), messages, answer)
    assert verdict(outcome, "sum-up") == "failed"
    assert "nowhere in the source" in str(outcome.receipt.stage("sum-up"))
    assert outcome.request.messages == messages


def test_d5_so_many_are_forgiven_as_the_pack_says() -> None:
    answer = GOOD + "It was moved to src/one.py and src/two.py."
    for forgiven, expected in (("1", "failed"), ("2", "committed"), ("unlimited", "committed")):
        outcome, _ = written(pack(GATE.replace("invented: 0", f"invented: {forgiven}")), session(), answer)
        assert verdict(outcome, "sum-up") == expected, forgiven


def test_d5_what_the_text_leaves_out_is_put_back_from_the_record() -> None:
    ground = ", ground: {facts: [files, mentions, constraints], exact: true}"
    outcome, _ = written(pack(ground), session(), "Commit 4f2a9c1 mends the leak.")
    (text,) = [one["content"] for one in shown(outcome) if "mends the leak" in str(one["content"])]
    assert "(files; origin: assistant)" in text
    assert "/proj/src/pool.py" in text
    assert "(mentions; origin: tool): worker.go" in text
    assert '- "Find the leak. Never touch the schema."' in text
    assert "re-read before use. Not found in the conversation: 4f2a9c1." in text
