"""A model server in a thread that does what a test tells it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-very-secret-1234567890"
Reply = Callable[["Handler", dict[str, Any]], None]


def event(piece: str, finish: str | None = None, logprobs: Any = None) -> bytes:
    choice = {"index": 0, "delta": {"content": piece}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice | {'logprobs': logprobs}]})}\n\n".encode()


class Handler(BaseHTTPRequestHandler):
    """One request; what it answers is its server's next reply."""

    server: FakeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.heard.append(body)
            self.server.paths.append(self.path)
            self.server.keys.append(self.headers.get("authorization"))
            replies = self.server.replies
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        try:
            reply(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.server.hung_up.set()
        finally:
            with self.server.lock:
                self.server.now -= 1

    def send(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def stream(self, kind: str = "text/event-stream; charset=utf-8", **headers: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.replies: list[Reply] = [says("")]
        self.heard: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.hung_up = threading.Event()
        self.now = self.most = 0

    def handle_error(self, *_: object) -> None:
        return

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


def says(text: str, finish: str | None = "stop", logprobs: Any = None, pause: float = 0) -> Reply:
    """The text word by word, and how it ends (None: without saying that it does)."""

    def reply(to: Handler, body: dict[str, Any]) -> None:
        del body
        to.stream()
        for word in text.split(" "):
            time.sleep(pause)
            to.send(event(f"{word} ", logprobs=logprobs))
        if finish:
            to.send(event("", finish))
            to.send(b"data: [DONE]\n\n")

    return reply


def fails(code: int, message: str = "", **headers: str) -> Reply:
    """An HTTP error in OpenAI's form."""

    def reply(to: Handler, body: dict[str, Any]) -> None:
        del body
        told = json.dumps({"error": {"message": message}}).encode()
        to.send_response(code)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), value)
        to.send_header("Content-Length", str(len(told)))
        to.end_headers()
        to.send(told)

    return reply


def sends(*pieces: bytes, kind: str = "text/event-stream", **headers: str) -> Reply:
    """These bytes, whatever they are."""

    def reply(to: Handler, body: dict[str, Any]) -> None:
        del body
        to.stream(kind, **headers)
        for piece in pieces:
            to.send(piece)

    return reply
