"""The models a stage may ask, by the names a pack gives them."""

from __future__ import annotations

from collections.abc import Sequence

from ..policy.scene import Scene


def models_of(names: Sequence[str], scene: Scene) -> list[str]:
    """Names to send, each once: ``same`` is the request's model, a string setting stands for its value."""
    found: list[str] = []
    for name in names or ("same",):
        setting = scene.settings.get(name)
        model = scene.request.model if name == "same" else setting if isinstance(setting, str) else name
        if model and model not in found:
            found.append(model)
    return found
