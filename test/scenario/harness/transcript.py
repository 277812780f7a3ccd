"""What happened, in order, for the report of a scenario that failed."""

import threading
import time

MAX_SHOWN_BYTES = 600
MAX_EVENTS = 2000


def show(data):
    """Bytes as a reader wants them: quoted, cut if long."""
    if len(data) <= MAX_SHOWN_BYTES:
        return repr(bytes(data))[1:]
    half = MAX_SHOWN_BYTES // 2
    return f"{repr(bytes(data[:half]))[1:]} ... {len(data)} bytes ... {repr(bytes(data[-64:]))[1:]}"


class Transcript:
    """Events of every party, with the time since the start."""

    def __init__(self):
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._events = []

    def note(self, who, text, data=None):
        if data is not None:
            text += show(data)
        with self._lock:
            if len(self._events) < MAX_EVENTS:
                self._events.append((time.monotonic() - self._started, who, text))

    def logger(self, who):
        """A function that notes events of one party."""
        return lambda text, data=None: self.note(who, text, data)

    def lines(self):
        with self._lock:
            return [f"  {at:7.3f} {who:<12} {text}" for at, who, text in self._events]
