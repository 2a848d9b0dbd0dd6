"""Whatever the records hold, reading ends with a recording or with Unreadable."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.readers import Unreadable, read

IDS = st.sampled_from(["a", "b", "c", "d"])
SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | IDS | st.just(" ")
)
ODD = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "content"]), inner)
    ),
    max_leaves=6,
)


def fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Records with these fields, each of them sometimes missing or of another type."""
    return st.fixed_dictionaries(
        {}, optional={key: st.one_of(value, value, value, ODD) for key, value in known.items()}
    )


BLOCK = fields(
    type=st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "hologram"]),
    text=st.sampled_from(["words", "", "<command-name>/x</command-name>"]),
    id=IDS,
    tool_use_id=IDS,
    name=IDS,
    input=ODD,
    content=ODD,
)
MESSAGE = fields(
    id=IDS,
    role=st.just("user"),
    content=st.lists(BLOCK, max_size=3) | st.just("words"),
    usage=fields(input_tokens=st.integers()),
)
METADATA = fields(
    preTokens=st.integers(),
    compactedToolIds=st.lists(IDS),
    preservedMessages=fields(anchorUuid=IDS, uuids=st.lists(IDS), allUuids=st.lists(IDS)),
    preservedSegment=fields(headUuid=IDS, anchorUuid=IDS, tailUuid=IDS),
)
RECORD = fields(
    type=st.sampled_from(["user", "user", "assistant", "assistant", "system", "attachment", "progress"]),
    subtype=st.sampled_from(["compact_boundary", "microcompact_boundary"]),
    uuid=st.integers(0, 60).map(str) | IDS,
    parentUuid=st.integers(0, 60).map(str) | IDS,
    timestamp=st.just("2026-02-18T10:00:00Z"),
    message=MESSAGE,
    compactMetadata=METADATA,
    microcompactMetadata=METADATA,
    attachment=fields(
        type=st.sampled_from(["file", "queued_command", "nested_memory", "new"]), content=ODD, prompt=ODD
    ),
    isSidechain=st.booleans(),
    isMeta=st.booleans(),
    isCompactSummary=st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(records=st.lists(RECORD, max_size=14))
def test_odd_records_never_crash_the_reader_and_give_messages_with_content(
    records: list[dict[str, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        try:
            recording = read(path, format="claude-code")
        except Unreadable:
            return
    for request in (recording.live, recording.history):
        assert len(request.info) == len(request.messages)
        for message in request.messages:
            content = message["content"]
            assert content.strip() if isinstance(content, str) else content
            json.dumps(message)
