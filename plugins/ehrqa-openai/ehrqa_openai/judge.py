"""A model behind a server as a judge of answers, by the paper's prompt (contracts.judging)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import ClassVar

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.judging import PROMPT, Judge, JudgedQuestion, prompt, verdict
from ehrqa_openai import settings, stand_in
from ehrqa_openai.plain import plain
from ehrqa_openai.server import Prompt, Server

_SYSTEM = "You are a careful judge of answers."
_LONGEST = 8000  # characters of an answer or an option
_TOKENS = 16
_TEMPERATURE = 1.0


class OpenAiJudge(Judge):
    """The judge ``openai``. Its verdicts are drawn (temperature 1), so that asking several times
    tells how sure it is; the n-th asking of one prompt has the seed n, so that a server that heeds
    seeds repeats them. Made without arguments: raises UsageError for wrong settings.
    """

    name: ClassVar[str] = "openai"

    def __init__(self, server: Server | None = None) -> None:
        self.server = server or Server(settings.Settings.load())
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    @classmethod
    def for_check(cls) -> OpenAiJudge | None:
        """Itself over a stand-in, for the contract suite; None where a server is named."""
        server = stand_in.server()
        return cls(server) if server is not None else None

    def judge(self, asked: JudgedQuestion) -> float:
        choices = asked.choices
        put = prompt(
            JudgedQuestion(
                asked.question,
                plain(asked.gold, _LONGEST),
                plain(asked.predicted, _LONGEST),
                choices={
                    plain(letter, 8): plain(text, _LONGEST) for letter, text in choices.items()
                }
                if choices
                else None,
            )
        )
        key = hashlib.sha256(put.encode()).hexdigest()
        with self._lock:
            self._asked[key] = nth = self._asked.get(key, 0) + 1
        said = self.server.ask(Prompt(_SYSTEM, put, _TOKENS, _TEMPERATURE, nth))
        if not said.whole and not said.told:
            raise ModelError(
                "the judge thinks aloud and comes to no verdict",
                f"set {settings.PREFIX}MAX_TOKENS to more tokens, or name another model",
            )
        return verdict(said.told)

    def provenance(self) -> Mapping[str, str]:
        digest = hashlib.sha256(f"{_SYSTEM}\n{PROMPT}".encode()).hexdigest()
        return {
            "judge": self.name,
            **self.server.provenance(),
            "prompt_sha256": digest,
            "temperature": f"{_TEMPERATURE:g}",
        }
