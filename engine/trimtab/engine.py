"""The engine: a pack and the host's ports. Opens sessions; holds no state of any conversation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .asking import Asked, asked, definitions
from .conversation.items import ItemMaker
from .files import Files, NoFiles
from .journal import DiskJournal, MemoryJournal
from .packs.given import given_values
from .packs.load import load
from .packs.pack import Pack, Setting
from .ports import HookPort, Ports
from .redaction import Redactor
from .redaction import make as make_redactor
from .session import Session
from .store import FolderStore, MemoryStore, Store
from .summarizers.base import Summarizer
from .tokens.counters import Counter, make
from .tokens.media import media_tokens
from .validity import Profile
from .version import __version__

THINKING = ("strip", "drop_block")


class Engine:
    """Made by ``Engine.load``, or of a ``Pack``. May be shared by any number of sessions.

    ``settings`` are values for the pack's settings; ``models`` gives for model globs, of which the first that matches
    counts, a window, ``max_output`` or ``max_input`` in tokens, or settings. Raises PackError where one of these is
    not what the pack's own must be, CounterError for a counter that cannot be made, ValueError for another wrong
    keyword.
    """

    def __init__(
        self,
        pack: Pack,
        *,
        settings: Mapping[str, Setting] | None = None,
        models: Mapping[str, Mapping[str, Setting]] | None = None,
        summarizer: Summarizer | None = None,
        store: Store | None = None,
        files: Files | None = None,
        hooks: HookPort | None = None,
        counter: str | Counter = "estimate",
        redactor: str | Redactor | None = "patterns",
        profile: Profile | None = None,
        thinking: str = "strip",
        strict: bool = False,
    ) -> None:
        if thinking not in THINKING:
            raise ValueError(f"thinking is {thinking!r}; it may be {' or '.join(THINKING)}")
        self.pack = pack
        self.settings, self.models = given_values(pack, settings, models)
        self.counter = make(counter) if isinstance(counter, str) else counter
        if not isinstance(self.counter, Counter) or isinstance(self.counter, type):
            raise ValueError(f"counter is {counter!r:.60}; it must have a name, count and count_many")
        if profile is not None and not isinstance(profile, Profile):
            raise ValueError(f"profile is {profile!r:.60}; it must be a trimtab.validity.Profile")
        self.maker = ItemMaker(self.counter.count, media_tokens)
        self.profile = profile
        self.thinking = thinking
        self.strict = strict
        self._store = store
        self.ports = Ports(
            summarizer,
            MemoryStore() if store is None else store,
            NoFiles() if files is None else files,
            hooks,
            redactor=make_redactor(redactor) if isinstance(redactor, str) else redactor,
        )

    @classmethod
    def load(cls, pack: str | os.PathLike[str] | Pack = "claude-code", **keywords: Any) -> Engine:
        """An engine of a pack's name, path, or a ``Pack``. Keywords as in ``Engine``.

        Raises PackError with everything that is wrong with the pack, or with settings and models, ValueError for a
        wrong keyword.
        """
        return cls(
            pack if isinstance(pack, Pack) else load(pack if isinstance(pack, str) else Path(pack)),
            **keywords,
        )

    def tools(self, model: str) -> list[dict[str, Any]]:
        """Definitions of the tools the pack offers this model under its settings, to add to a request's ``tools``.

        Raises TemplateProblem where a description cannot be rendered.
        """
        return definitions(self.pack, self.pack.values_for(model, self.settings, self.models)[0], model)

    def asked(self, call: Any) -> Asked | None:
        """What a ``tool_use`` block of the model asks for, if the tool is one the pack offers; else None.

        Run the event ``manual`` with ``Facts(request=asked.request)``, and answer with ``asked.result(outcome)``.
        """
        return asked(self.pack, call)

    def session(self) -> Session:
        """A session in memory: it ends with the process."""
        return Session(self, MemoryJournal())

    def open_session(self, folder: str | os.PathLike[str]) -> Session:
        """A session that lasts: journal and, unless the host gave one, the store live in ``folder`` (made 0700).

        Raises JournalError or OSError if the journal cannot be read.
        """
        place = Path(folder)
        journal = DiskJournal.open(place, engine=__version__)
        engine = self if self._store is not None else self._with_store(FolderStore(place))
        return Session(engine, journal)

    def twin(self, pack: Pack, ports: Ports) -> Engine:
        """The same engine with another pack and other ports."""
        twin = object.__new__(Engine)
        twin.__dict__.update(self.__dict__)
        twin.pack, twin.ports = pack, ports
        return twin

    def _with_store(self, store: Store) -> Engine:
        return self.twin(self.pack, replace(self.ports, store=store))
