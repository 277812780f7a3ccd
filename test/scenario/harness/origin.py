"""The scripted origin: answers each request by the first entry of its script that fits.

An entry says which requests it is for (`match`), how many it answers (`times`), what it expects of
them (`expect`), and what it does (`respond`, or `steps` for exact bytes, barriers and endings).
"""

import email.utils
import re
import socket
import struct
import threading
import time

from harness import expect, wire

ACCEPT_BACKLOG = 1024


class Hangup(Exception):
    """The script is done with this connection."""


def reset(sock):
    """Closes with RST."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    sock.close()


def header_lines(headers):
    """Fields from a mapping (a list value repeats the field) or from a list of `Name: value`."""
    if isinstance(headers, dict):
        pairs = [(name, one) for name, value in headers.items()
                 for one in (value if isinstance(value, list) else [value])]
        return [f"{name}: {'' if value is None else value}" for name, value in pairs]
    return [str(line) for line in headers or []]


def render(text, request, count):
    """Fills in what a reply may echo: {{n}}, {{target}}, {{host}}, {{body}}, {{header Name}}..."""
    def value(match):
        words = match.group(1).split()
        if words[0] == "n":
            return str(count)
        if words[0] == "header":
            return request.get(words[1]) or "none"
        if words[0] == "date":
            offset = float(words[1]) if len(words) > 1 else 0
            return email.utils.formatdate(time.time() + offset, usegmt=True)
        return {"target": request.target, "host": request.get("host") or "",
                "method": request.method, "body": request.body.decode("latin-1")}[words[0]]
    return re.sub(r"\{\{([^{}]+)\}\}", value, text)


_RESPOND_KEYS = {"status", "reason", "headers", "body", "chunked", "length", "http", "date",
                 "trailers", "head_only"}


def response_head(spec, request, count, body):
    """The head of a `respond`: Date and Content-Length are added unless the script declines."""
    status = spec.get("status", 200)
    lines = [f"HTTP/{spec.get('http', '1.1')} {status} {spec.get('reason', 'Scripted')}"]
    lines += [render(line, request, count) for line in header_lines(spec.get("headers"))]
    names = {line.split(":")[0].lower() for line in lines[1:]}
    if "date" not in names and spec.get("date", True):
        lines.append("Date: " + email.utils.formatdate(usegmt=True))
    if spec.get("chunked"):
        lines.append("Transfer-Encoding: chunked")
    elif spec.get("length", True) and "content-length" not in names and status not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    return expect.to_bytes("\r\n".join(lines) + "\r\n\r\n")


def chunks(spec, body):
    """The chunked form of a body: pieces of the given sizes, the last one takes the rest."""
    sizes = spec["chunked"] if isinstance(spec["chunked"], list) else []
    out = bytearray()
    at = 0
    for size in sizes + [max(1, len(body))]:
        piece = body[at:at + size]
        at += size
        if piece:
            out += b"%x\r\n" % len(piece) + piece + b"\r\n"
    trailers = "".join(line + "\r\n" for line in header_lines(spec.get("trailers")))
    return bytes(out) + b"0\r\n" + expect.to_bytes(trailers) + b"\r\n"


_ENTRY_KEYS = {"match", "times", "expect", "respond", "steps", "early"}
_MATCH_KEYS = {"method", "path", "prefix", "headers"}


class Entry:
    """One line of an origin's script."""

    def __init__(self, spec):
        unknown = set(spec) - _ENTRY_KEYS | set(spec.get("match", {})) - _MATCH_KEYS
        unknown |= set(spec.get("respond", {})) - _RESPOND_KEYS
        if unknown:
            raise ValueError(f"unknown keys in a reply: {sorted(unknown)}")
        self.match = spec.get("match", {})
        self.times = spec.get("times")
        self.expect = spec.get("expect", {})
        self.early = spec.get("early", False)
        self.steps = spec.get("steps") or [{"respond": spec.get("respond", {})}]
        self.used = 0

    def fits(self, request):
        if self.times is not None and self.used >= self.times:
            return False
        wanted = self.match
        if not expect.matches(request.method, wanted.get("method", request.method)):
            return False
        if not expect.matches(request.target, wanted.get("path", request.target)):
            return False
        if not request.target.startswith(wanted.get("prefix", "")):
            return False
        return all(expect.matches(request.get(name), value)
                   for name, value in wanted.get("headers", {}).items())


class Connection:
    """One connection of the proxy to this origin, on a thread of its own."""

    def __init__(self, origin, sock, number):
        self._origin = origin
        self._socket = sock
        self._log = origin.transcript.logger(f"{origin.name}#{number}")
        self._reader = wire.Reader(sock, self._log)
        self.number = number

    def run(self):
        try:
            while True:
                request = wire.read_request_head(self._reader, self._origin.deadline)
                if request is None:
                    break
                self._serve(request)
        except (Hangup, BrokenPipeError, ConnectionError):
            pass
        except wire.TimedOut:
            pass
        except (wire.WireError, expect.Unmet) as error:
            self._origin.fail(str(error))
        except OSError as error:
            self._log(f"socket error: {error}")
        finally:
            self._socket.close()

    def _serve(self, request):
        entry, count = self._origin.record(request, self.number)
        if entry is None:
            self._origin.fail(f"no reply is scripted for {request.method} {request.target}")
            raise Hangup
        if not entry.early:
            wire.read_request_body(self._reader, request, self._origin.deadline)
            self._origin.body_read()
            if not request.complete:
                self._log("the request's body was cut short")
                raise Hangup
        if request.violations:
            self._origin.fail("; ".join(request.violations))
        expect.check_request(request, entry.expect)
        for step in entry.steps:
            self._step(step, request, count)

    def _send(self, data):
        self._log("> ", data)
        self._socket.settimeout(max(0.1, self._origin.deadline - time.monotonic()))
        self._socket.sendall(data)

    def _step(self, step, request, count):
        (verb, argument), = step.items()
        if verb == "respond":
            self._respond(argument, request, count)
        elif verb == "send":
            self._send(expect.to_bytes(render(argument, request, count)))
        elif verb == "send_body":
            self._send(expect.body_bytes(argument))
        elif verb == "drip":
            for one in expect.to_bytes(render(argument, request, count)):
                self._send(bytes([one]))
        elif verb == "wait":
            self._origin.barriers.wait(argument, self._origin.deadline)
        elif verb == "signal":
            self._origin.barriers.signal(argument)
        elif verb == "read_body":
            wire.read_request_body(self._reader, request, self._origin.deadline)
            self._origin.body_read()
        elif verb == "await_close":
            while self._reader.fill(self._origin.deadline):
                pass
            raise Hangup
        elif verb == "close":
            if argument == "rst":
                self._log("> reset")
                reset(self._socket)
            else:
                self._log("> end of stream")
            raise Hangup
        else:
            raise ValueError(f"unknown step {verb!r} in a reply")

    def _respond(self, spec, request, count):
        body = spec.get("body", "")
        body = expect.to_bytes(render(body, request, count)) if isinstance(body, str) \
            else expect.body_bytes(body)
        data = response_head(spec, request, count, body)
        status = spec.get("status", 200)
        if request.method != "HEAD" and status not in (204, 304) and not spec.get("head_only"):
            data += chunks(spec, body) if spec.get("chunked") else body
        self._send(data)
        if not spec.get("length", True) and not spec.get("chunked") and status not in (204, 304):
            self._log("> end of stream")
            raise Hangup


class Origin:
    """A listening socket, its connections, and what they received."""

    def __init__(self, name, spec, barriers, transcript, deadline):
        unknown = set(spec) - {"replies", "accept"}
        if unknown:
            raise ValueError(f"unknown keys of origin {name}: {sorted(unknown)}")
        self.name = name
        self.barriers = barriers
        self.transcript = transcript
        self.deadline = deadline
        self.failures = []
        self.requests = []  # (message, connection number)
        self.connections = 0
        self._entries = [Entry(entry) for entry in spec.get("replies", [])]
        self._counts = {}
        self._changed = threading.Condition()
        self._refuse = spec.get("accept", True) is False
        self._listener = None
        self._sockets = []
        self.port = 0
        self.listen()

    def listen(self):
        """Opens the port (the same one again after `refuse`)."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        if self._refuse:
            self._listener = listener  # bound but not listening: connections are refused
            return
        listener.listen(ACCEPT_BACKLOG)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def refuse(self):
        """Stops listening: the next connections are refused. Open ones are reset."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        with self._changed:
            sockets, self._sockets = self._sockets, []
        for sock in sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept_again(self):
        self._refuse = False
        if self._listener is not None:
            self._listener.close()
        self.listen()

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self.connections += 1
                self._sockets.append(sock)
                connection = Connection(self, sock, self.connections)
            threading.Thread(target=connection.run, daemon=True).start()

    def record(self, request, number):
        """Notes a request; returns the entry that answers it and how often its target was asked."""
        with self._changed:
            self.requests.append((request, number))
            count = self._counts[request.target] = self._counts.get(request.target, 0) + 1
            entry = next((e for e in self._entries if e.fits(request)), None)
            if entry is not None:
                entry.used += 1
            self._changed.notify_all()
        return entry, count

    def body_read(self):
        with self._changed:
            self._changed.notify_all()

    def fail(self, text):
        with self._changed:
            self.failures.append(f"origin {self.name}: {text}")
        self.transcript.note(self.name, "FAILURE " + text)

    def _seen(self, path, method):
        return [m for m, _ in self.requests if expect.matches(m.target, path or m.target)
                and expect.matches(m.method, method or m.method)]

    def seen(self, path=None, method=None):
        """Requests so far, of a path and a method if they are given."""
        with self._changed:
            return self._seen(path, method)

    def wait_for(self, path, method, count, deadline):
        """Waits until that many requests have come."""
        while True:
            with self._changed:
                have = len(self._seen(path, method))
                if have >= count:
                    return
                left = deadline - time.monotonic()
                if left <= 0:
                    raise wire.TimedOut(f"{have} requests for {path} came, {count} were awaited")
                self._changed.wait(left)

    def close(self):
        self.refuse()
