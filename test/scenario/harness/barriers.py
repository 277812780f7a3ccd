"""Named events by which the parties of a scenario wait for each other instead of sleeping."""

import threading
import time

from harness.wire import TimedOut


class Barriers:
    """Each name is an event that is signalled once and stays so."""

    def __init__(self, transcript):
        self._transcript = transcript
        self._lock = threading.Lock()
        self._events = {}

    def _event(self, name):
        with self._lock:
            return self._events.setdefault(str(name), threading.Event())

    def signal(self, name):
        self._transcript.note("barrier", f"{name} is signalled")
        self._event(name).set()

    def wait(self, name, deadline):
        if not self._event(name).wait(max(0, deadline - time.monotonic())):
            raise TimedOut(f"nobody signalled {name}")

    def release_all(self):
        """Lets every waiter go at the end of a scenario."""
        with self._lock:
            for event in self._events.values():
                event.set()
