"""Playing a case: the host's part of a run, exact usage, answers in turn, jobs, undo, resume, what always holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.testing.support import PACK, case, failure, failures, planned, run, written

from trimtab.packs.load import load
from trimtab.testing import playing
from trimtab.testing.playing import play
from trimtab.testing.suite import plan, run_case


@pytest.mark.parametrize("used", [99_999, 100_000, 123_456])
def test_a_usage_is_the_figure_triggers_go_by_to_the_token(used: int, tmp_path: Path) -> None:
    due = used >= 100_000
    body = f"usage: {{input_tokens: {used}}}\nsettings: {{clear: false}}\nanswers: [unavailable]\n"
    ran = case(tmp_path, body + f"expect: {{stages: {{sum-up: {'committed' if due else 'skipped'}}}}}")
    assert ran.passed, ran.failures
    outcome = ran.play.runs[0].outcome
    assert outcome is not None
    assert outcome.receipt.totals.tokens.before in (used, used + 1)


def test_what_came_from_the_cache_counts_and_gives_way_last(tmp_path: Path) -> None:
    body = "usage: {input_tokens: 2000, cache_read_input_tokens: 60000, cache_creation_input_tokens: 38000}\n"
    ran = case(
        tmp_path,
        body + "settings: {clear: false}\nanswers: [unavailable]\nexpect: {stages: {sum-up: committed}}",
    )
    assert ran.passed


@pytest.mark.parametrize(
    ("used", "why"), [(50, "alone is estimated at more"), (250_000, "more than the window holds")]
)
def test_a_usage_that_cannot_be_is_a_failure_at_its_place(used: int, why: str, tmp_path: Path) -> None:
    body = f"usage: {{input_tokens: {used}}}\nexpect: {{stages: {{clear: nothing}}}}"
    one = failure(tmp_path, body, "rounds: {count: 1, result: {chars: 4000}}")
    assert (one.what, one.at.line) == ("run", 4)
    assert f"no usage makes this request {used:,} tokens: " in one.found
    assert why in one.found


def test_answers_are_given_in_turn_and_a_step_may_bring_new_ones(tmp_path: Path) -> None:
    body = """
event: manual
answers: [A first summary., A second summary.]
expect: {view: [{at: {origins: [summary]}, matches: A first}]}
steps:
  - given: {then: [{rounds: {count: 9}}]}
    event: manual
    expect: {view: [{at: {origins: [summary]}, matches: A second}]}
  - given: {then: [{rounds: {count: 9}}]}
    event: manual
    answers: [A third summary.]
    expect: {view: [{at: {origins: [summary]}, matches: A third}]}
"""
    assert case(tmp_path, body, "rounds: {count: 9}").passed


def test_asked_more_often_than_answered_is_a_failure(tmp_path: Path) -> None:
    one = failure(
        tmp_path, "event: manual\nanswers: []\nexpect: {stages: {sum-up: committed}}", "rounds: {count: 9}"
    )
    assert one.what == "answers"
    assert one.found == "asked 1 more time than answered"
    assert [report.id for report in one.reports] == ["by-model"]


def test_background_jobs_are_run_at_once_and_taken_over_by_the_next_run(tmp_path: Path) -> None:
    body = """
event: after_response
answers: [Notes on it.]
expect: {stages: {notes: done}}
steps:
  - expect: {receipt: {jobs: [{id: notes, verdict: done}]}}
"""
    assert case(tmp_path, body, "rounds: {count: 2}, then: [{role: assistant, content: So far.}]").passed


def test_a_session_that_is_opened_again_knows_what_was_decided(tmp_path: Path) -> None:
    body = """
expect: {stages: {clear: {verdict: committed, items: 2}}}
steps:
  - {given: {then: [{rounds: {count: 1}}]}, resume: true, expect: {stages: {clear: {verdict: committed, items: 1}}}}
"""
    assert case(tmp_path, body).passed


def test_a_commit_that_is_undone_stays_undone(tmp_path: Path) -> None:
    body = """
expect: {stages: {clear: committed}}
steps:
  - {undo: clear, resume: true, expect: {stages: {clear: nothing}, view: [{at: {matches: cleared}, absent: true}]}}
"""
    assert case(tmp_path, body).passed


def test_what_was_never_committed_cannot_be_undone(tmp_path: Path) -> None:
    one = failure(tmp_path, "settings: {clear: false}\nsteps:\n  - {undo: clear}")
    assert one.what == "step 1: run"
    assert "`clear` has no commit that could be undone" in one.found


def test_other_settings_in_a_step_are_those_of_a_host_that_starts_anew(tmp_path: Path) -> None:
    body = """
settings: {clear: false}
expect: {stages: {clear: skipped}}
steps:
  - {settings: {clear: true, shown: 2}, expect: {stages: {clear: {verdict: committed, items: 1}}}}
"""
    assert case(tmp_path, body).passed


def test_a_step_may_bring_another_system_prompt_and_other_tools(tmp_path: Path) -> None:
    body = """
expect: {request: {system: One.}}
steps:
  - expect: {request: {system: One.}}
  - {given: {system: Two., tools: [{name: Bash}]}, expect: {request: {system: Two., tools: [{name: Bash}]}}}
"""
    assert case(tmp_path, body, "rounds: {count: 1}, system: One.").passed


def test_files_are_those_the_host_has_and_may_change(tmp_path: Path) -> None:
    pack = (
        PACK.replace(
            "  - {id: hush,",
            "  - {id: show, kind: attach, at: [before_request], from: [{fact: files, read: disk, repeat: changed,"
            ' text: "{{ items[0].content }}"}]}\n  - {id: hush,',
        )
        + "facts: {files: {key: path, from: [{tools: [read], take: {path: /path}, set: {read: true}}]}}\n"
    )
    tests = """
cases:
  - name: files
    given: {rounds: {count: 1, tool: Read, input: {path: /a}}, files: {/a: before}}
    expect: {view: [{at: -1, matches: before}]}
    steps:
      - {given: {then: [{rounds: {count: 1}}], files: {/a: after}}, expect: {view: [{at: -1, matches: after}]}}
"""
    found = plan([str(written(tmp_path, tests, pack))])
    assert found.every_problem == []
    [ran] = [run_case(one, found.files[0].pack) for one in found.files[0].cases]
    assert ran.passed, ran.failures


def test_an_error_that_ends_a_run_is_a_failure_unless_its_stage_is_expected_to_fail(tmp_path: Path) -> None:
    pack = PACK.replace("kind: first_of\n", "kind: first_of\n    on_failure: raise\n").replace(
        "[unavailable]}, text", "[invalid]}, text"
    )
    tests = "cases:\n  - {name: a, given: {rounds: {count: 9}}, event: manual, answers: [unavailable]%s}\n"
    for expect, passed in ((", expect: {stages: {sum-up: failed}}", True), (", expect: {only: true}", False)):
        found = plan([str(written(tmp_path, tests % expect, pack))])
        [one] = found.files[0].cases
        ran = run_case(one, found.files[0].pack)
        assert ran.passed is passed, ran.failures
    assert ran.failures[0].what == "run"
    assert "sum-up" in ran.failures[0].found


def test_a_second_run_that_changes_the_view_without_getting_smaller_is_a_failure(tmp_path: Path) -> None:
    grows = PACK.replace(
        "  - {id: hush,",
        '  - {id: grow, kind: attach, at: [before_request], from: [{text: "again"}]}\n  - {id: hush,',
    )
    tests = "cases:\n  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {grow: committed}}}\n"
    found = plan([str(written(tmp_path, tests, grows))])
    [failed] = run_case(found.files[0].cases[0], found.files[0].pack).failures
    assert failed.what == "always: second run"
    assert "by grow" in failed.found


def test_bytes_that_differ_the_second_time_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(
        tmp_path, "cases:\n  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}\n"
    )
    numbers = iter(range(100))
    whole = playing.anthropic.dumps
    monkeypatch.setattr(playing.anthropic, "dumps", lambda request: f"{next(numbers)}{whole(request)}")
    [failed] = run_case(found.files[0].cases[0], found.files[0].pack).failures
    assert failed.what == "always: same bytes twice"


def test_an_engine_that_writes_into_the_hosts_messages_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned(
        tmp_path, "cases:\n  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {clear: committed}}}\n"
    )
    whole = playing.Session.run

    def scribbling(session: Any, request: Any, *more: Any) -> Any:
        outcome = whole(session, request, *more)
        request.messages[0] = {"role": "user", "content": "scribble"}
        return outcome

    monkeypatch.setattr(playing.Session, "run", scribbling)
    played = play(found.files[0].cases[0], found.files[0].pack, again=False)
    assert played.runs[0].changed_input


def test_a_request_no_rule_can_mend_is_a_failure_unless_the_problem_is_expected(tmp_path: Path) -> None:
    given = "messages: [{role: user, content: go}, {role: system, content: odd}]"
    one = failure(tmp_path, "expect: {stages: {clear: nothing}}", given)
    assert one.what == "always: valid"
    told = run(
        tmp_path,
        f"cases:\n  - {{name: a, given: {{{given}}}, expect: {{problems: [invalid-system_place]}}}}\n",
    )
    assert not told.failed, told.failed[0].failures


def test_facts_time_and_manual_requests_are_given_as_they_stand(tmp_path: Path) -> None:
    body = """
now: "2030-01-01T00:00:00Z"
facts: {caller: explore}
event: idle
expect: {stages: {hush: done}, receipt: {run: {at: "2030-01-01T00:00:00Z"}, notices: [{text: all is well}]}}
"""
    assert case(tmp_path, body).passed


def test_the_pack_of_a_case_is_not_changed_by_playing_it(tmp_path: Path) -> None:
    tests = written(
        tmp_path,
        "settings: {shown: 2}\n"
        "cases:\n  - {name: a, given: {rounds: {count: 3}}, expect: {stages: {clear: {items: 1}}}}\n",
    )
    found = plan([str(tests)])
    run_case(found.files[0].cases[0], found.files[0].pack)
    assert found.files[0].pack.settings == load(tmp_path / "pack.yaml").settings
    assert failures(tmp_path, "expect: {stages: {clear: {items: 2}}}") == []
