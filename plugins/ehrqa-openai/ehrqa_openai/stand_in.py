"""A server that answers no to everything, in this process: for `ehrqa plugins check`, where none
is named. It shows that the plugin keeps its contract, and says nothing of a model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx

from ehrqa_openai import settings
from ehrqa_openai.server import Server

_SAID = "no"


def server() -> Server | None:
    """The stand-in; None where a server is named, which is then asked itself."""
    if not settings.lacking():
        return None
    nowhere = settings.Settings("http://127.0.0.1:9/v1", "stand-in")
    return Server(nowhere, httpx.MockTransport(_answer))


class _Answer(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for delta, reason in (({"content": _SAID}, None), ({}, "stop")):
            event = {"choices": [{"delta": delta, "finish_reason": reason}]}
            yield f"data: {json.dumps(event)}\n\n".encode()
        yield b"data: [DONE]\n\n"


def _answer(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Answer())
