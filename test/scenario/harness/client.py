"""Scripted clients: named connections that send exact bytes and judge what comes back."""

import hashlib
import socket
import time

from harness import expect, wire
from harness.origin import header_lines, reset

_REQUEST_KEYS = {"method", "path", "host", "headers", "body", "http", "chunked", "length"}


def request_bytes(spec):
    """The bytes of a `request`: Host is added, and Content-Length if there is a body."""
    unknown = set(spec) - _REQUEST_KEYS
    if unknown:
        raise ValueError(f"unknown keys in a request: {sorted(unknown)}")
    http = str(spec.get("http", "1.1"))
    lines = [f"{spec.get('method', 'GET')} {spec.get('path', '/')} HTTP/{http}"]
    if spec.get("host", "example.com") is not None:
        lines.append(f"Host: {spec.get('host', 'example.com')}")
    lines += header_lines(spec.get("headers"))
    body = expect.body_bytes(spec["body"]) if "body" in spec else b""
    if spec.get("chunked"):
        lines.append("Transfer-Encoding: chunked")
        body = (b"%x\r\n" % len(body) + body + b"\r\n" if body else b"") + b"0\r\n\r\n"
    elif "body" in spec and spec.get("length", True):
        lines.append(f"Content-Length: {len(body)}")
    return expect.to_bytes("\r\n".join(lines) + "\r\n\r\n") + body


class Client:
    """One connection; the methods of requests whose responses are still to come are remembered."""

    def __init__(self, name, address, transcript, deadline, receive_buffer=None):
        self.name = name
        self._deadline = deadline
        self._log = transcript.logger(name)
        self._socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(max(0.1, deadline - time.monotonic()))
        self._socket.connect(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._log(f"connected to {address[0]}:{address[1]}")
        self._reader = wire.Reader(self._socket, self._log)
        self._pending = []

    def send(self, data, method=None, http10=False):
        self._log("> ", data)
        if method is not None:
            self._pending.append((method, http10))
        self._socket.settimeout(max(0.1, self._deadline - time.monotonic()))
        self._socket.sendall(data)

    def request(self, spec):
        http10 = str(spec.get("http", "1.1")) == "1.0"
        self.send(request_bytes(spec), spec.get("method", "GET"), http10)

    def receive(self, want, deadline):
        """Reads the next response and judges it; returns it."""
        method, http10 = self._pending.pop(0) if self._pending else ("GET", False)
        message = wire.read_response(self._reader, want.get("to", method), deadline, http10)
        if len(message.body) > 64:
            digest = hashlib.sha256(message.body).hexdigest()
            self._log(f"  body of {len(message.body)} bytes, sha256 {digest[:16]}")
        expect.check_response(message, want)
        if want.get("closes"):
            self.expect_close({"how": want["closes"] if isinstance(want["closes"], str) else "any"},
                              deadline)
        return message

    def receive_interim(self, status, deadline):
        """Reads one interim response, for a client that waits for it before it goes on."""
        head = self._reader.until(b"\r\n\r\n", deadline)
        if head is None:
            raise wire.Closed(self._reader.end)
        expect.demand("the interim response", head[9:12].decode("latin-1"), str(status))

    def receive_some(self, count, deadline):
        """Reads bytes without judging them, for a client that leaves in the middle."""
        data = self._reader.exactly(count, deadline)
        if len(data) < count:
            raise expect.Unmet(f"the stream ended after {len(data)} of {count} bytes")

    def expect_close(self, want, deadline):
        """The peer must close, and send nothing before it does."""
        how = want.get("how", "any") if isinstance(want, dict) else "any"
        rest = self._reader.rest(deadline)
        if rest and not (isinstance(want, dict) and want.get("ignore_data")):
            raise expect.Unmet(f"bytes came instead of the end of the stream: {rest[:200]!r}")
        if how not in ("any", self._reader.end):
            raise expect.Unmet(f"the stream ended by {self._reader.end}, expected {how}")

    def expect_silence(self, seconds):
        """Nothing may come, and the peer must not close, for a while."""
        try:
            alive = self._reader.buffer or self._reader.fill(time.monotonic() + seconds)
        except wire.TimedOut:
            return
        if not alive:
            raise expect.Unmet("the peer closed the connection")
        raise expect.Unmet(f"unexpected bytes: {bytes(self._reader.buffer[:200])!r}")

    def shutdown_write(self):
        self._log("> end of stream (half-close)")
        self._socket.shutdown(socket.SHUT_WR)

    def close(self, how="fin"):
        self._log(f"closes ({how})")
        if how == "rst":
            reset(self._socket)
        else:
            self._socket.close()
