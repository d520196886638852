"""What a server streams: pieces of an answer, with the probabilities of its tokens if it has them.

Server-sent events, of which OpenAI's chat completions use the lines ``data: JSON`` and, at the end,
``data: [DONE]``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_BYTES = 64 << 20  # of one answer with all that stands around it
MOST_OF_LINE = 1 << 20
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class Broken(Exception):
    """The stream is not what it should be, or ends in the middle. Its text quotes nothing."""


@dataclass(frozen=True)
class Said:
    """One answer. ``whole`` is False where the server cut it at its greatest length.

    ``logprobs`` are natural logarithms of its tokens' probabilities, ``entropies`` (nats) those of
    the tokens that the server names at each place, all others taken as one: a lower bound.
    """

    text: str
    whole: bool = True
    logprobs: tuple[float, ...] = ()
    entropies: tuple[float, ...] = ()

    @property
    def told(self) -> str:
        """The text without what a model of the reasoning kind thinks aloud."""
        return _THOUGHT.sub("", self.text).strip()

    def scores(self) -> dict[str, float]:
        """``mean_logprob`` and ``max_entropy`` where they were measured.

        Rounded: servers that batch differ in the last digits from one asking to the next.
        """
        found: dict[str, float] = {}
        if self.logprobs:
            found["mean_logprob"] = round(math.fsum(self.logprobs) / len(self.logprobs), 4)
        if self.entropies:
            found["max_entropy"] = round(max(self.entropies), 4)
        return found


@dataclass
class Hearing:
    """An answer as it comes in."""

    pieces: list[str] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    finish: str | None = None

    def take(self, event: Any) -> str:
        """Take in one event; returns the piece of text in it. Raises Broken."""
        if not isinstance(event, Mapping) or event.get("error"):
            raise Broken("reports an error in the middle of its answer")
        choices = event.get("choices") or [{}]
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, Mapping):
            raise Broken("does not stream chat completions")
        delta = choice.get("delta") or {}
        piece = delta.get("content") or "" if isinstance(delta, Mapping) else None
        if not isinstance(piece, str):
            raise Broken("does not stream chat completions")
        self.pieces.append(piece)
        self._measure(choice.get("logprobs"))
        if isinstance(reason := choice.get("finish_reason"), str):
            self.finish = reason
        return piece

    def _measure(self, logprobs: Any) -> None:
        content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
        for token in content if isinstance(content, list) else []:
            one = _log(token.get("logprob")) if isinstance(token, Mapping) else None
            if one is None:
                continue
            self.logprobs.append(one)
            named = token.get("top_logprobs")
            tops = [
                log
                for each in (named if isinstance(named, list) else [])
                if isinstance(each, Mapping) and (log := _log(each.get("logprob"))) is not None
            ]
            if tops:
                self.entropies.append(entropy(tops))

    def said(self) -> Said:
        """The whole answer. Raises Broken where the server has not said that it is at its end."""
        if self.finish is None:
            raise Broken("ended in the middle of its answer")
        whole = self.finish == "stop"
        return Said("".join(self.pieces), whole, tuple(self.logprobs), tuple(self.entropies))


def _log(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(float(value), 0.0) if good else None


def entropy(logs: list[float]) -> float:
    """Entropy in nats of tokens by the logarithms of their probabilities, the rest as one token."""
    each = [math.exp(log) for log in logs]
    rest = 1.0 - math.fsum(each)
    return math.fsum(-p * math.log(p) for p in [*each, rest] if p > 0)


async def events(chunks: AsyncIterable[bytes]) -> AsyncIterator[Any]:
    """The JSON of each event, up to ``[DONE]`` or the end. Raises Broken."""
    rest, read = bytearray(), 0
    async for chunk in chunks:
        read += len(chunk)
        rest += chunk
        if read > MOST_BYTES or len(rest) > MOST_OF_LINE + len(chunk):
            raise Broken("does not come to an end")
        if b"\n" not in chunk:
            continue
        *lines, rest = rest.split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                return
            try:
                yield json.loads(data)
            except (ValueError, RecursionError):
                raise Broken("streams what is not JSON") from None
