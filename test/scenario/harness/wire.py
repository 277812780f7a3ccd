"""HTTP/1.1 as bytes: a buffered reader over a socket, and strict parsers of requests and responses.

The parsers here are the harness's own judgement of what is on the wire; they share nothing with the
program under test and accept less than it may.
"""

import functools
import random
import re
import socket
import time
from dataclasses import dataclass, field

MAX_HEAD_BYTES = 1 << 20
PATTERN_PERIOD = 65521
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)\Z")
_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])\Z")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\Z")
_BODILESS = (204, 304)


class WireError(Exception):
    """What is on the wire is not what it has to be; the message says why."""


class TimedOut(WireError):
    """Nothing came in time."""


class Closed(WireError):
    """The peer closed before the first byte of a message; `how` is fin or rst."""

    def __init__(self, how):
        super().__init__(f"the peer closed ({how}) before a message began")
        self.how = how


@functools.lru_cache(maxsize=8)
def pattern(seed, size):
    """The bytes that stand for a large body: a function of the seed, the same everywhere.

    They repeat after a prime number of bytes, so that no two places whose distance is a multiple of
    a block, a page or a segment look alike.
    """
    block = random.Random(str(seed)).randbytes(PATTERN_PERIOD)
    return (block * (size // PATTERN_PERIOD + 1))[:size]


class Reader:
    """Bytes of one socket, in order; remembers how the peer ended the stream."""

    def __init__(self, sock, log):
        self._socket = sock
        self._log = log
        self.buffer = bytearray()
        self.end = None  # None while open, then "fin" or "rst"

    def fill(self, deadline):
        """Reads more; returns False at the end of the stream."""
        if self.end is not None:
            return False
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOut(f"timed out with {len(self.buffer)} unread bytes: {self._peek()}")
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(1 << 18)
        except socket.timeout:
            raise TimedOut(f"timed out with {len(self.buffer)} unread bytes: "
                           f"{self._peek()}") from None
        except OSError as error:
            self.end = "rst"
            self._log(f"< reset ({error.strerror})")
            return False
        if not data:
            self.end = "fin"
            self._log("< end of stream")
            return False
        self._log("< ", data)
        self.buffer += data
        return True

    def _peek(self):
        return repr(bytes(self.buffer[:80]))

    def until(self, marker, deadline, limit=MAX_HEAD_BYTES):
        """Bytes up to and with the marker, or None if the stream ends before it."""
        searched = 0
        while True:
            at = self.buffer.find(marker, max(0, searched - len(marker)))
            if at >= 0:
                return self.take(at + len(marker))
            searched = len(self.buffer)
            if searched > limit:
                raise WireError(f"no {marker!r} within {limit} bytes")
            if not self.fill(deadline):
                return None

    def exactly(self, count, deadline):
        """`count` bytes, or fewer if the stream ends before."""
        while len(self.buffer) < count and self.fill(deadline):
            pass
        return self.take(min(count, len(self.buffer)))

    def rest(self, deadline):
        while self.fill(deadline):
            pass
        return self.take(len(self.buffer))

    def take(self, count):
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data


@dataclass
class Message:
    """A request or a response as it was read."""

    start: tuple
    headers: list
    raw_head: bytes
    body: bytes = b""
    complete: bool = True
    chunked: bool = False
    trailers: list = field(default_factory=list)
    interim: list = field(default_factory=list)
    violations: list = field(default_factory=list)

    def values(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def get(self, name):
        found = self.values(name)
        return ", ".join(found) if found else None

    def tokens(self, name):
        return [token.strip().lower() for value in self.values(name)
                for token in value.split(",") if token.strip()]

    @property
    def status(self):
        return self.start[1]

    @property
    def minor(self):
        return self.start[0]

    @property
    def method(self):
        return self.start[1]

    @property
    def target(self):
        return self.start[2]


def parse_fields(lines):
    """Name and value of each line; anything that RFC 9112 section 5 does not allow is an error."""
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.match(name):
            raise WireError(f"bad field line {line!r}")
        if re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value):
            raise WireError(f"control character in field {line!r}")
        fields.append((name.decode("latin-1"), value.strip(b" \t").decode("latin-1")))
    return fields


def _split_head(head):
    lines = head[:-4].split(b"\r\n")
    if any(b"\n" in line or b"\r" in line for line in lines):
        raise WireError(f"bare CR or LF in head {head[:200]!r}")
    return lines[0], parse_fields(lines[1:])


def _read_chunked(reader, message, deadline):
    while True:
        line = reader.until(b"\r\n", deadline)
        if line is None:
            message.complete = False
            return
        match = _CHUNK_SIZE.match(line[:-2])
        if not match:
            raise WireError(f"bad chunk size {line!r}")
        size = int(match.group(1), 16)
        if size == 0:
            break
        message.body += reader.exactly(size, deadline)
        if reader.exactly(2, deadline) != b"\r\n":
            if reader.end is None:
                raise WireError("chunk data does not end with CRLF")
            message.complete = False
            return
    lines = []
    while True:
        line = reader.until(b"\r\n", deadline)
        if line is None:
            message.complete = False
            return
        if line == b"\r\n":
            message.trailers = parse_fields(lines)
            return
        lines.append(line[:-2])


def _content_length(message):
    values = message.values("content-length")
    if not values:
        return None
    if len(values) > 1 or not re.fullmatch(r"[0-9]+", values[0]):
        raise WireError(f"bad Content-Length {values}")
    return int(values[0])


def _judge_response(message, method, http10):
    """Notes what no response may ever have, whatever a scenario looks for."""
    both = message.values("content-length") and message.values("transfer-encoding")
    if both:
        message.violations.append("Content-Length together with Transfer-Encoding (RFC 9112 6.2)")
    if message.values("transfer-encoding"):
        if http10:
            message.violations.append("Transfer-Encoding to an HTTP/1.0 client (RFC 9112 6.1)")
        if message.status in _BODILESS[:1]:
            message.violations.append("Transfer-Encoding on a 204 (RFC 9112 6.1)")
    if message.status == 204 and message.values("content-length"):
        message.violations.append("Content-Length on a 204 (RFC 9110 8.6)")
    for name in ("date", "age", "etag", "last-modified", "content-type", "location"):
        if len(message.values(name)) > 1:
            message.violations.append(f"{name} more than once")


def read_response(reader, method, deadline, http10=False):
    """One final response and the interim ones before it."""
    interim = []
    while True:
        head = reader.until(b"\r\n\r\n", deadline)
        if head is None:
            if reader.buffer or interim:
                raise WireError(f"the stream ended ({reader.end}) inside a response head: "
                                f"{bytes(reader.buffer[:80])!r}")
            raise Closed(reader.end)
        start, headers = _split_head(head)
        match = _STATUS_LINE.match(start)
        if not match:
            raise WireError(f"bad status line {start!r}")
        message = Message((int(match.group(1)), int(match.group(2)), match.group(3)), headers, head)
        if not 100 <= message.status < 200:
            break
        interim.append(message)
    message.interim = interim
    _judge_response(message, method, http10)
    if method == "HEAD" or message.status in _BODILESS:
        return message
    if "chunked" in message.tokens("transfer-encoding"):
        message.chunked = True
        _read_chunked(reader, message, deadline)
        return message
    length = _content_length(message)
    if length is None:
        message.body = reader.rest(deadline)
        message.complete = reader.end == "fin"
    else:
        message.body = reader.exactly(length, deadline)
        message.complete = len(message.body) == length
    return message


def read_request_head(reader, deadline):
    """The head of the next request, or None if the peer closed between requests."""
    head = reader.until(b"\r\n\r\n", deadline)
    if head is None:
        if reader.buffer:
            raise WireError("the stream ended inside a request head: "
                            f"{bytes(reader.buffer[:80])!r}")
        return None
    start, headers = _split_head(head)
    match = _REQUEST_LINE.match(start)
    if not match:
        raise WireError(f"bad request line {start!r}")
    method, target, minor = match.groups()
    message = Message((int(minor), method.decode(), target.decode("latin-1")), headers, head)
    hosts = message.values("host")
    if len(hosts) != 1:
        message.violations.append(f"{len(hosts)} Host fields reached the origin (RFC 9112 3.2)")
    if message.values("content-length") and message.values("transfer-encoding"):
        message.violations.append("Content-Length with Transfer-Encoding reached the origin")
    if len(message.values("content-length")) > 1:
        message.violations.append("several Content-Length fields reached the origin")
    return message


def read_request_body(reader, message, deadline):
    coding = message.tokens("transfer-encoding")
    if coding:
        if coding != ["chunked"]:
            raise WireError(f"transfer coding {coding} reached the origin")
        message.chunked = True
        _read_chunked(reader, message, deadline)
        return
    length = _content_length(message)
    if length:
        message.body = reader.exactly(length, deadline)
        message.complete = len(message.body) == length
