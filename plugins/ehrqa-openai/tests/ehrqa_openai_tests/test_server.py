"""A server that is slow, busy, broken, dead or insolent."""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ehrqa_openai.said import entropy
from ehrqa_openai.server import Prompt, Server
from ehrqa_openai.settings import Secret, Settings

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, ModelError, UsageError

from .fake import KEY, FakeServer, Handler, event, fails, says, sends

ASK = Prompt("be brief", "hello", 10)


def test_an_answer_is_streamed(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [says("one two three")]
    heard: list[str] = []
    here = threading.current_thread()
    said = Server(settings).ask(
        ASK, lambda piece: heard.append(piece) if threading.current_thread() is here else None
    )
    assert said.told == "one two three" and said.whole
    assert heard == ["one ", "two ", "three "]
    assert fake.keys == [f"Bearer {KEY}"]
    (body,) = fake.heard
    assert body["temperature"] == 0 and body["max_tokens"] == 10 and body["model"] == "m"


def test_an_answer_cut_at_its_greatest_length_says_so(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [says("SELECT 1", "length")]
    assert not Server(settings).ask(ASK).whole


def test_what_a_model_thinks_aloud_is_no_answer(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [says("<think> SELECT 2? </think> SELECT 1"), says("<think> hm", "length")]
    server = Server(settings)
    assert server.ask(ASK).told == "SELECT 1"
    assert server.ask(ASK).told == ""


def test_probabilities_are_measured(fake: FakeServer, settings: Settings) -> None:
    half, tenth = math.log(0.5), math.log(0.1)
    tops = [{"token": "a", "logprob": half}, {"token": "b", "logprob": tenth}]
    fake.replies = [says("a b", logprobs={"content": [{"logprob": half, "top_logprobs": tops}]})]
    scores = Server(settings).ask(replace(ASK, logprobs=True)).scores()
    assert scores == {
        "mean_logprob": round(half, 4),
        "max_entropy": round(-0.5 * half - 0.1 * tenth - 0.4 * math.log(0.4), 4),
    }
    assert entropy([0.0]) == 0.0


@pytest.mark.parametrize(
    "logprobs",
    [[], {"content": "x"}, {"content": [1, {"logprob": "x"}, {"logprob": float("nan")}]}, 3,
     {"content": [{"logprob": True, "top_logprobs": 5}]}],
)  # fmt: skip
def test_odd_probabilities_are_none(fake: FakeServer, settings: Settings, logprobs: Any) -> None:
    fake.replies = [says("a", logprobs=logprobs)]
    assert Server(settings).ask(ASK).scores() == {}


def test_a_server_without_probabilities_is_asked_without(
    fake: FakeServer, settings: Settings
) -> None:
    fake.replies = [fails(500, "logprobs is not supported for this model"), says("yes")]
    server = Server(settings)
    prompt = replace(ASK, logprobs=True)
    assert server.ask(prompt).told == "yes"
    server.ask(prompt)
    assert ["logprobs" in body for body in fake.heard] == [True, False, False]
    with pytest.raises(ModelError, match="logprobs is not supported"):
        fake.replies = [fails(400, "logprobs is not supported for this model")]
        Server(replace(settings, logprobs=True)).ask(prompt)


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_what_may_pass_is_asked_again(fake: FakeServer, settings: Settings, code: int) -> None:
    fake.replies = [fails(code, Retry_After="0"), fails(code, Retry_After="0"), says("yes")]
    assert Server(replace(settings, retries=2)).ask(ASK).told == "yes"
    assert len(fake.heard) == 3


def test_in_the_end_it_gives_up(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [fails(429, "slow down", Retry_After="0")]
    with pytest.raises(ModelError, match="HTTP 429: slow down") as error:
        Server(replace(settings, retries=2)).ask(ASK)
    assert "later" in error.value.hint and len(fake.heard) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_what_will_not_pass_is_not(fake: FakeServer, settings: Settings, code: int) -> None:
    fake.replies = [fails(code, f"no {KEY}\nat all\x1b[31m", Retry_After="0")]
    with pytest.raises(ModelError, match=f"HTTP {code}") as error:
        Server(replace(settings, retries=2)).ask(ASK)
    assert len(fake.heard) == 1
    shown = str(error.value)
    assert error.value.hint and KEY not in shown and shown.isprintable()
    assert ("at all" in shown) == (code not in (401, 403))


def test_the_key_is_nowhere(
    fake: FakeServer, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in errors nor what led to them, not in logs, not in provenance."""
    fake.replies = [fails(500, KEY), fails(401, KEY), fails(302, KEY), sends(b"data: {\n")]
    server = Server(settings)
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG):
        for _ in range(4):
            with pytest.raises(ModelError) as error:
                server.ask(ASK)
            shown += traceback.format_exception(error.value)
            shown += [repr(error.value), repr(error.value.args)]
    shown += [repr(server), repr(server.settings), repr(server.provenance()), caplog.text]
    assert fake.keys == [f"Bearer {KEY}"] * 4
    assert not [text for text in shown if KEY in text]


def test_no_redirect_is_followed(fake: FakeServer, settings: Settings) -> None:
    other = FakeServer()
    try:
        for code in (301, 302, 307, 308):
            fake.replies = [fails(code, Location=f"{other.url}/chat/completions")]
            with pytest.raises(ModelError, match="elsewhere"):
                Server(settings).ask(ASK)
        assert other.heard == []
    finally:
        other.server_close()


def test_the_environment_names_no_proxy(
    fake: FakeServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fake.replies = [says("yes")]
    assert Server(settings).ask(ASK).told == "yes"


def test_a_proxy_is_for_other_machines_only(fake: FakeServer, settings: Settings) -> None:
    proxy = fake.url.removesuffix("/v1")
    there = replace(
        settings,
        url="http://gpu7:8000/v1",
        hosts=("http://gpu7:8000",),
        proxy=proxy,
        key=Secret(""),
    )
    fake.replies = [says("yes")]
    assert Server(there).ask(ASK).told == "yes"
    assert fake.paths == ["http://gpu7:8000/v1/chat/completions"]
    here = replace(settings, proxy="http://127.0.0.1:9")
    assert Server(here).ask(ASK).told == "yes"


def test_certificates_that_are_none(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "ca.pem"
    for made in (False, True):
        if made:
            path.write_text("hello", encoding="utf-8")
        there = replace(settings, url="https://127.0.0.1:1/v1", ca_file=str(path))
        with pytest.raises(UsageError, match="CA_FILE"):
            Server(there).ask(ASK)


def test_cancel_does_not_wait_for_the_name_of_a_host(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def resolve(*_: object, **__: object) -> None:
        over.wait(20)
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    url, hosts = "http://gpu7:8000/v1", ("http://gpu7:8000",)
    server = Server(replace(settings, url=url, hosts=hosts, key=Secret("")))
    try:
        assert cancelled_while(server) < 1.0
        with pytest.raises(ModelError, match="no whole answer"):
            Server(replace(server.settings, timeout=0.2)).ask(ASK)
    finally:
        over.set()


def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_no_server_at_all(settings: Settings) -> None:
    url = f"http://127.0.0.1:{unused_port()}/v1"
    with pytest.raises(ModelError, match="no model server answers") as error:
        Server(replace(settings, url=url)).ask(ASK)
    assert "EHRQA_OPENAI_URL" in error.value.hint


def dies(to: Handler, body: dict[str, Any]) -> None:
    """Half an answer with a promise of more, then the connection is reset."""
    del body
    to.stream(Content_Length="100000")
    to.send(event("SELECT"))
    to.connection.shutdown(socket.SHUT_RDWR)


def test_a_server_that_dies_in_the_middle(fake: FakeServer, settings: Settings) -> None:
    """An error with a hint, nothing half taken for whole, and the next question is answered."""
    fake.replies = [dies, says("SELECT 1", None), says("SELECT 2")]
    server = Server(replace(settings, retries=3))
    for _ in range(2):
        with pytest.raises(ModelError, match="in the middle") as error:
            server.ask(ASK)
        assert error.value.hint
    assert server.ask(ASK).told == "SELECT 2"
    assert len(fake.heard) == 3  # what has begun is not asked again


@pytest.mark.parametrize(
    "reply",
    [
        sends(b"data: {not json\n\n"),
        sends(b"data: [1, 2]\n\n"),
        sends(b'data: {"choices": [3]}\n\n'),
        sends(b'data: {"choices": {"a": 1}}\n\n'),
        sends(b'data: {"choices": [{"delta": {"content": 5}}]}\n\n'),
        sends(b'data: {"error": {"message": "out of memory"}}\n\n'),
        sends(b"data: " + b"[" * 100_000 + b"\n\n"),
        sends(b"data: \xff\xfe\n\n"),
        sends(b"data: [DONE]\n\n"),
        sends(b""),
        sends(b"<html>hello</html>", kind="text/html"),
        sends(b'{"choices": []}', kind="application/json"),
        sends(event("a", "stop"), Content_Encoding="gzip"),
        sends(*[b"x" * (1 << 16)] * 40),
    ],
)
def test_a_broken_stream_is_an_error(fake: FakeServer, settings: Settings, reply: Any) -> None:
    fake.replies = [reply, says("yes")]
    server = Server(settings)
    with pytest.raises(ModelError) as error:
        server.ask(ASK)
    assert error.value.hint and "\n" not in str(error.value)
    assert server.ask(ASK).told == "yes"


def test_events_may_be_cut_anywhere(fake: FakeServer, settings: Settings) -> None:
    whole = b": hello\r\n\r\n" + event("caf\u00e9 \u2028x").replace(b"\n", b"\r\n")
    whole += event("", "stop") + b"data: [DONE]\n\ndata: {after the end\n\n"
    fake.replies = [sends(*(whole[i : i + 3] for i in range(0, len(whole), 3)))]
    assert Server(settings).ask(ASK).told == "caf\u00e9 \u2028x"


@pytest.mark.parametrize("pause", [0.05, 30.0])
def test_a_slow_server_is_given_up(fake: FakeServer, settings: Settings, pause: float) -> None:
    """One that says nothing, and one that goes on and on."""
    fake.replies = [says(" ".join(["word"] * 200), pause=pause)]
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"no whole answer within 0\.4 s") as error:
        Server(replace(settings, timeout=0.4, retries=3)).ask(ASK)
    assert time.monotonic() - started < 3
    assert "EHRQA_OPENAI_TIMEOUT" in error.value.hint


def cancelled_while(server: Server, many: bool = False) -> float:
    """Seconds from cancel() to Cancelled."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        server.cancel()

    timer = threading.Timer(0.3, press)
    timer.start()
    try:
        with pytest.raises(Cancelled):
            if many:
                server.ask_many([ASK] * 3)
            else:
                server.ask(ASK)
        return time.monotonic() - pressed[0]
    finally:
        timer.join()
        server.switch.release()


@pytest.mark.parametrize("pause", [0.05, 30.0])
@pytest.mark.parametrize("many", [False, True])
def test_cancel_ends_it_at_once(
    fake: FakeServer, settings: Settings, pause: float, many: bool
) -> None:
    """While it streams, and while nothing has come yet; the stream is closed, the next one runs."""
    fake.replies = [says(" ".join(["word"] * 500), pause=pause)]
    server = Server(settings)
    assert cancelled_while(server, many) < 1.0
    if pause < 1:
        assert fake.hung_up.wait(5)
    fake.replies = [says("yes")]
    assert server.ask(ASK).told == "yes"


def test_cancel_ends_the_wait_for_another_try(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [fails(503, Retry_After="20")]
    assert cancelled_while(Server(replace(settings, retries=2))) < 1.0


def test_a_cancel_that_comes_too_early_is_not_lost(fake: FakeServer, settings: Settings) -> None:
    server = Server(settings)
    server.cancel()
    with pytest.raises(Cancelled):
        server.ask(ASK)


def test_what_on_piece_raises_ends_the_stream(fake: FakeServer, settings: Settings) -> None:
    fake.replies = [says(" ".join(["word"] * 500), pause=0.02)]

    def burst(piece: str) -> None:
        raise KeyError(piece)

    with pytest.raises(KeyError):
        Server(settings).ask(ASK, burst)
    assert fake.hung_up.wait(5)


def test_many_are_asked_together_and_answered_in_order(
    fake: FakeServer, settings: Settings
) -> None:
    def echo(to: Handler, body: dict[str, Any]) -> None:
        asked = body["messages"][1]["content"]
        reply = fails(400, "too long") if asked == "3" else says(asked, pause=0.05)
        reply(to, body)

    fake.replies = [echo]
    prompts = [Prompt("", str(n), 5) for n in range(8)]
    found = Server(replace(settings, concurrency=3)).ask_many(prompts)
    told = [each if isinstance(each, EhrqaError) else each.told for each in found]
    assert isinstance(told[3], ModelError)
    assert [t for t in told if isinstance(t, str)] == ["0", "1", "2", "4", "5", "6", "7"]
    assert fake.most == 3
