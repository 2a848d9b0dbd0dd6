"""What the API answers when it does not answer: status, error type, text and details (API-FACTS §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Error type of each status, as the SDK's ``ErrorType`` lists them."""


@dataclass(frozen=True)
class Refusal:
    """A scripted or earned error. Put one in the script to have it answered whatever the request is."""

    status: int
    message: str
    type: str = ""
    details: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {
            "type": self.type or TYPES.get(self.status, "api_error"),
            "message": self.message,
        }
        if self.details is not None:
            error["details"] = dict(self.details)
        return {"type": "error", "error": error}


class Refused(Exception):
    """Raised inside the fake; becomes the answer."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def invalid(message: str, error_code: str = "", **details: Any) -> Refused:
    """400. With ``error_code`` the SDK raises the class it has for it."""
    found = {"error_code": error_code, **details} if error_code else None
    return Refused(Refusal(400, message, details=found))


def rate_limited(retry_after: float | None = None) -> Refusal:
    """429, with the header ``retry-after`` in seconds."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Refusal(429, "This request would exceed your rate limit.", headers=headers)


def overloaded() -> Refusal:
    """529."""
    return Refusal(529, "Overloaded")


def server_error() -> Refusal:
    """500."""
    return Refusal(500, "Internal server error")


def compaction_unavailable() -> Refusal:
    """529, of a request that asks for a compaction (API-FACTS §3)."""
    details = {"error_code": "compaction_unavailable"}
    return Refusal(529, "The compaction could not be completed; try again.", details=details)


def too_long(tokens: int, window: int) -> Refusal:
    """400 as for a prompt of ``tokens`` in a window of ``window``; for a script that refuses on purpose."""
    return Refusal(400, f"prompt is too long: {tokens} tokens > {window} maximum")
