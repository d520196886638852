"""A model server that speaks OpenAI's chat completions: asked, asked again, and cancelled.

Nothing is read from the environment of this process (no proxies, no .netrc), no redirect is
followed, and no error quotes the key.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from ehrqa_cli.contracts.errors import EhrqaError, ModelError, UsageError
from ehrqa_openai.said import Broken, Hearing, Said, events
from ehrqa_openai.settings import PREFIX, Settings
from ehrqa_openai.switch import Switch, Tell, run

_CONNECT = 10.0  # seconds
_LONGEST_PAUSE = 30.0
_MOST_ERROR = 4096  # bytes read of an error's body
_TOP = 5  # tokens named at each place, of which entropies are made
_START = "start it, or set EHRQA_OPENAI_URL to where it is"


@dataclass(frozen=True)
class Prompt:
    """What is asked: two messages, at most ``tokens`` of answer. ``temperature`` 0 is greedy."""

    system: str
    user: str
    tokens: int
    temperature: float = 0.0
    seed: int = 0
    logprobs: bool = False


class _Again(Exception):
    """A fault that may pass; ``after`` is how long the server asks to wait, in seconds."""

    def __init__(self, error: ModelError, after: float | None = None) -> None:
        super().__init__()
        self.error = error
        self.after = after


class Server:
    """Asks the server of ``settings``. ``cancel`` may be called from another thread.

    Connections live as long as one call, so that a server that was restarted is simply asked anew.
    ``transport`` stands in for the network in tests.
    """

    def __init__(
        self, settings: Settings, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self.settings = settings
        self.where = str(settings.address)
        self.switch = Switch()
        self._transport = transport
        self._logprobs = settings.logprobs is not False

    def ask(self, prompt: Prompt, on_piece: Tell | None = None) -> Said:
        """One answer; ``on_piece`` hears its pieces. Raises ModelError and Cancelled."""

        async def work(tell: Tell) -> Said:
            async with self._client() as client:
                return await self._asked(client, prompt, tell)

        return run(work, self.switch, on_piece)

    def ask_many(self, prompts: Sequence[Prompt]) -> list[Said | EhrqaError]:
        """The answers, or their errors, in the order of ``prompts``. Raises Cancelled."""

        async def work(tell: Tell) -> list[Said | EhrqaError]:
            del tell
            room = asyncio.Semaphore(self.settings.concurrency)
            async with self._client() as client:

                async def one(prompt: Prompt) -> Said | EhrqaError:
                    async with room:
                        try:
                            return await self._asked(client, prompt, lambda piece: None)
                        except EhrqaError as error:
                            return error

                return list(await asyncio.gather(*map(one, prompts)))

        return run(work, self.switch)

    def cancel(self) -> None:
        """End what is being asked; it raises Cancelled there."""
        self.switch.press()

    def provenance(self) -> Mapping[str, str]:
        """The server's address and the name of the model there: a server tells no hash."""
        return {"model": self.settings.model, "server": self.where}

    @cached_property
    def _trusted(self) -> ssl.SSLContext | bool:
        if self.settings.address.scheme != "https":
            return False  # nothing is encrypted, and there is nothing to load
        try:
            return ssl.create_default_context(cafile=self.settings.ca_file or None)
        except (OSError, ssl.SSLError):
            raise UsageError(
                f"{PREFIX}CA_FILE does not hold certificates", "name a file in PEM form"
            ) from None

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        key = self.settings.key
        proxy = self.settings.proxy if not self.settings.address.loopback else ""
        async with httpx.AsyncClient(
            headers={"Accept-Encoding": "identity"}
            | ({"Authorization": f"Bearer {key.reveal()}"} if key else {}),
            verify=self._trusted,
            trust_env=False,
            follow_redirects=False,
            proxy=proxy or None,
            timeout=httpx.Timeout(self.settings.timeout, connect=_CONNECT),
            transport=self._transport,
        ) as client:
            yield client

    async def _asked(self, client: httpx.AsyncClient, prompt: Prompt, tell: Tell) -> Said:
        seconds = self.settings.timeout
        tries = AsyncRetrying(
            retry=retry_if_exception_type(_Again),
            stop=stop_after_attempt(1 + self.settings.retries),
            wait=_pause,
            reraise=True,
        )
        try:
            async with asyncio.timeout(seconds):
                async for attempt in tries:
                    with attempt:
                        return await self._once(client, prompt, tell)
        except _Again as again:
            raise again.error from None
        except TimeoutError:
            raise ModelError(
                f"the model server {self.where} gives no whole answer within {seconds:g} s",
                f"set {PREFIX}TIMEOUT to more seconds, or use a smaller model",
            ) from None
        raise AssertionError("unreachable")

    async def _once(self, client: httpx.AsyncClient, prompt: Prompt, tell: Tell) -> Said:
        hearing = Hearing()
        try:
            async with client.stream(
                "POST", f"{self.settings.base}/chat/completions", json=self._body(prompt)
            ) as response:
                if response.status_code == 200:
                    return await self._heard(response, hearing, tell)
                body = await _beginning(response)
            if prompt.logprobs and self._logprobs and _about_logprobs(response, body):
                self._logprobs = self.settings.logprobs is True
                if not self._logprobs:
                    return await self._once(client, prompt, tell)
            raise self._refused(response, body)
        except Broken as broken:
            raise ModelError(f"the model server {self.where} {broken}", "ask again") from None
        except httpx.TransportError as error:
            raise self._lost(error, begun=bool(hearing.pieces)) from None
        except httpx.HTTPError as error:
            raise ModelError(
                f"the model server {self.where} cannot be understood: {type(error).__name__}",
                "is it an OpenAI-compatible server? Its URL ends in /v1",
            ) from None

    async def _heard(self, response: httpx.Response, hearing: Hearing, tell: Tell) -> Said:
        if "text/event-stream" not in response.headers.get("content-type", ""):
            raise Broken("does not stream chat completions")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise Broken("compresses its answer, though asked not to")
        async for event in events(response.aiter_raw()):
            if piece := hearing.take(event):
                tell(piece)
        return hearing.said()

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            "max_tokens": self.settings.max_tokens or prompt.tokens,
            "stream": True,
        }
        if prompt.logprobs and self._logprobs:
            body |= {"logprobs": True, "top_logprobs": _TOP}
        return body

    def _lost(self, error: httpx.TransportError, begun: bool) -> Exception:
        """What a lost connection comes to; only what has said nothing yet is asked again."""
        if begun:
            return ModelError(
                f"the model server {self.where} was lost in the middle of its answer",
                "see why it ended, start it, and ask again",
            )
        if "CERTIFICATE" in str(error).upper():
            return ModelError(
                f"the certificate of the model server {self.where} is not trusted",
                f"name your own authority's certificates with {PREFIX}CA_FILE",
            )
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return _Again(ModelError(f"no model server answers at {self.where}", _START))
        told = f"the model server {self.where} broke the connection ({type(error).__name__})"
        return _Again(ModelError(told, "see why, and ask again"))

    def _refused(self, response: httpx.Response, body: bytes) -> Exception:
        """An HTTP status that is no answer."""
        code = response.status_code
        who = f"the model server {self.where}"
        if code in (401, 403):
            hint = f"set {PREFIX}KEY, or {PREFIX}KEY_FILE to a file that holds it"
            return ModelError(f"{who} refuses the key (HTTP {code})", hint)
        if 300 <= code < 400:
            return ModelError(
                f"{who} sends us elsewhere (HTTP {code}), which is not followed",
                f"set {PREFIX}URL to the address of the server itself",
            )
        said = _message(body, self.settings.key.reveal())
        error = ModelError(f"{who} answers HTTP {code}{said}", _HINTS.get(code, "see its log"))
        return _Again(error, _after(response)) if code in (408, 429) or code >= 500 else error


_HINTS = {
    400: "see what it says; the question may be too long for its model",
    404: f"is the model's name right, and does {PREFIX}URL end in /v1?",
    429: "it is busy: ask again later",
    503: "it is busy or still loading: ask again later",
}


async def _beginning(response: httpx.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= _MOST_ERROR:
            break
    return body[:_MOST_ERROR]


def _about_logprobs(response: httpx.Response, body: bytes) -> bool:
    return response.status_code in (400, 422, 500, 501) and b"logprob" in body.lower()


def _message(body: bytes, key: str) -> str:
    """The server's own words, on one line, cut, and without the key."""
    try:
        found = json.loads(body)
        error = found.get("error", found) if isinstance(found, dict) else ""
        text = error.get("message") if isinstance(error, dict) else error
    except (ValueError, RecursionError):
        return ""
    if not isinstance(text, str):
        return ""
    text = text.replace(key, "***") if key else text
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f": {line[:200]}" if line else ""


def _after(response: httpx.Response) -> float | None:
    try:
        seconds = float(response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_PAUSE else None


def _pause(state: RetryCallState) -> float:
    """Half a second, doubled each time, or what the server asks for."""
    raised = state.outcome.exception() if state.outcome else None
    if isinstance(raised, _Again) and raised.after is not None:
        return raised.after
    return min(0.5 * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE)
