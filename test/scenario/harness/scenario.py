"""Runs one scenario: origins, the process, the steps, and the checks that each one ends with."""

import copy
import json
import threading
import time

from harness import document as documents
from harness import expect, proxy, wire
from harness.barriers import Barriers
from harness.client import Client
from harness.origin import Origin
from harness.prometheus import Exposition
from harness.transcript import Transcript

DEFAULT_TIMEOUT_S = 30
DEFAULT_CLIENT = "c"
POLL_SECONDS = 0.05
FAILURES = (expect.Unmet, wire.WireError, proxy.ProcessError, OSError)


class StepFailed(Exception):
    """A step did not hold; the message names its line."""


class Scenario:
    """One file. `run` returns None if it passed, or the report of the failure."""

    def __init__(self, path, binary, defaults=None):
        self.path = path
        self._binary = binary
        self._defaults = defaults or {}
        self._document = documents.load(path)
        self.name = self._document["name"]
        self._transcript = Transcript()
        self._deadline = 0
        self._barriers = Barriers(self._transcript)
        self._origins = {}
        self._clients = {}
        self._config_options = {}
        self._proxy = None
        self._lock = threading.Lock()

    # --- life ------------------------------------------------------------------------------------

    def run(self):
        self._deadline = time.monotonic() + self._document.get("timeout_s", DEFAULT_TIMEOUT_S)
        failure = None
        try:
            self._open()
            self._run_steps(self._document["steps"], self._variables())
            self._end()
        except StepFailed as error:
            failure = str(error)
        except FAILURES as error:
            failure = f"{type(error).__name__}: {error}"
        finally:
            self._barriers.release_all()
            failure = self._collect(failure)
            self._close()
        return failure

    def _variables(self):
        variables = {name: {"port": origin.port, "address": f"127.0.0.1:{origin.port}"}
                     for name, origin in self._origins.items()}
        variables["data"] = self._document.get("data", {})
        if self._proxy is not None:
            variables["dir"] = self._proxy.folder
            if self._proxy.listeners:
                host, port = self._proxy.address()
                variables["listener"] = {"port": port, "address": f"{host}:{port}"}
                variables["listeners"] = {name: {"port": address[1]} for name, address in
                                          self._proxy.listeners.items()}
        return variables

    def _open(self):
        specs = self._document.get("origins") or {"origin": self._document.get("origin", {})}
        data = {"data": self._document.get("data", {})}
        for name, spec in specs.items():
            spec = dict(spec)
            spec["replies"] = documents.expand(spec.get("replies", []), data)
            self._origins[name] = Origin(name, spec, self._barriers, self._transcript,
                                         self._deadline)
        self._proxy = proxy.Proxy(self._binary, self._transcript, self._deadline)
        self._config_options = self._document.get("config", {})
        self._write_config(self._config_options)
        if self._document.get("start", True):
            self._start_proxy({})

    def _start_proxy(self, step):
        if "config" in step:
            self._write_config(proxy.merge(self._config_options, step["config"]))
        self._proxy.start(step.get("flags", self._document.get("flags", [])),
                          step.get("forbid", self._document.get("forbid")))

    def _write_config(self, options):
        unknown = set(options) - proxy.CONFIG_KEYS
        if unknown:
            raise documents.DocumentError(f"unknown keys in config: {sorted(unknown)}")
        options = documents.plain(documents.substitute(options, self._variables()))
        if "text" in options:
            self._proxy.write_config(options["text"])
            return
        ports = {name: origin.port for name, origin in self._origins.items()}
        self._proxy.write_config(proxy.default_config(self._proxy.folder, ports, options,
                                                      self._defaults))

    def _end(self):
        """The process must still be alive and must stop cleanly."""
        for client in list(self._clients.values()):
            client.close()
        if self._proxy.running():
            self._proxy.stop()

    def _collect(self, failure):
        """Adds what origins and the process complained about; None if nobody did."""
        reasons = [failure] if failure else []
        for origin in self._origins.values():
            reasons += origin.failures
        if self._proxy is not None:
            reasons += [f"the process wrote: {fault}" for fault in self._proxy.faults()[:5]]
        if not reasons:
            return None
        lines = [f"{self.name} ({self.path})"] + [f"  {reason}" for reason in reasons]
        lines += ["transcript:"] + self._transcript.lines()
        tail = self._proxy.log_tail() if self._proxy is not None else ""
        if tail:
            lines += ["log of the process:"] + ["  " + line for line in tail.split("\n")]
        return "\n".join(lines)

    def _close(self):
        for origin in self._origins.values():
            origin.close()
        if self._proxy is not None:
            self._proxy.cleanup()

    # --- steps -----------------------------------------------------------------------------------

    def _run_steps(self, steps, variables):
        for step in steps:
            self._run_step(step, variables)

    def _run_step(self, step, variables):
        if not isinstance(step, dict):
            raise documents.DocumentError(f"a step is a mapping, not {step!r}")
        line = getattr(step, "line", 0)
        try:
            if "for_each" in step:
                self._for_each(step, variables)
                return
            if "parallel" in step:
                self._parallel(step["parallel"], variables)
                return
            if "eventually" in step:
                self._eventually(step["eventually"], variables)
                return
            variables = {**variables, **self._variables()}
            self._act(documents.substitute(step, variables))
        except FAILURES as error:
            kind = "" if isinstance(error, expect.Unmet) else f"{type(error).__name__}: "
            loop = f" (turn {variables['i']})" if "i" in variables else ""
            self._transcript.note("scenario", f"FAILURE at line {line}: {error}")
            raise StepFailed(f"line {line}{loop}: {kind}{error}") from error

    def _for_each(self, step, variables):
        items = documents.substitute(step["for_each"], {**variables, **self._variables()})
        for index, one in enumerate(items):
            self._run_steps(step["do"], documents.loop_variables(one, index, variables))

    def _parallel(self, branches, variables):
        """Runs lists of steps at once; `{times: N, do: [...]}` is N of one kind, by ${branch}."""
        threads = []
        errors = []

        def branch(steps, inner):
            try:
                self._run_steps(steps, inner)
            except Exception as error:  # reported by the thread that joins
                errors.append(error)

        for one in branches:
            repeated = isinstance(one, dict) and "times" in one
            for index in range(one["times"] if repeated else 1):
                steps = one["do"] if isinstance(one, dict) else one
                own = {"branch": index}
                inner = documents.loop_variables(own, index, variables) if repeated else variables
                threads.append(threading.Thread(target=branch, args=(steps, inner), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.1, self._deadline + 1 - time.monotonic()))
        if errors:
            raise errors[0]
        if any(thread.is_alive() for thread in threads):
            raise wire.TimedOut("a parallel branch did not end")

    def _eventually(self, argument, variables):
        limit = min(self._deadline, time.monotonic() + argument.get("within_s", 5))
        while True:
            try:
                self._run_steps(argument["do"], variables)
                return
            except StepFailed:
                if time.monotonic() > limit:
                    raise
                time.sleep(POLL_SECONDS)

    def _act(self, step):
        kind = next((name for name in _VERBS if name in step), None)
        if kind is None:
            kind = "client"
        _VERBS[kind](self, step)

    # --- verbs -----------------------------------------------------------------------------------

    def _client_for(self, step):
        name = step.get("client", DEFAULT_CLIENT)
        with self._lock:
            client = self._clients.get(name)
        if client is not None and step.get("fresh"):
            client.close()
            client = None
        if client is None:
            client = Client(name, self._proxy.address(step.get("listener")), self._transcript,
                            self._deadline, step.get("receive_buffer"))
            with self._lock:
                self._clients[name] = client
        return client

    def _forget(self, step):
        with self._lock:
            self._clients.pop(step.get("client", DEFAULT_CLIENT), None)

    def _limit(self, step):
        return min(self._deadline, time.monotonic() + step.get("within_s", self._deadline))

    def _do_client(self, step):
        if step.get("refused"):
            self._expect_refused(step)
            return
        known = {"client", "fresh", "listener", "receive_buffer", "request", "get", "send", "drip",
                 "answers", "interim", "receive_bytes", "expect", "expect_close", "silence_s",
                 "shutdown", "close", "within_s"}
        unknown = set(step) - known
        if unknown:
            raise documents.DocumentError(f"line {step.line}: unknown keys {sorted(unknown)}")
        client = self._client_for(step)
        limit = self._limit(step)
        if "get" in step:
            client.request({"path": step["get"]})
        if "request" in step:
            client.request(step["request"])
        if "send" in step:
            self._send(client, step)
        if "interim" in step:
            client.receive_interim(step["interim"], limit)
        if "receive_bytes" in step:
            client.receive_some(step["receive_bytes"], limit)
        if "expect" in step:
            client.receive(step["expect"], limit)
            if step["expect"].get("closes"):
                self._forget(step)
        if "expect_close" in step:
            client.expect_close(step["expect_close"], limit)
            self._forget(step)
        if "silence_s" in step:
            client.expect_silence(step["silence_s"])
        if "shutdown" in step:
            client.shutdown_write()
        if "close" in step:
            client.close(step["close"])
            self._forget(step)

    def _expect_refused(self, step):
        """A new connection must not be accepted."""
        self._forget(step)
        try:
            client = Client("refused", self._proxy.address(step.get("listener")), self._transcript,
                            self._deadline)
        except ConnectionRefusedError:
            return
        client.close()
        raise expect.Unmet("the connection was accepted")

    @staticmethod
    def _send(client, step):
        pieces = step["send"] if isinstance(step["send"], list) else [step["send"]]
        data = [expect.body_bytes(piece) for piece in pieces]
        if step.get("drip"):
            data = [bytes([one]) for piece in data for one in piece]
        for method in step.get("answers", []):
            client.send(b"", method)
        for piece in data:
            client.send(piece)

    def _do_wait(self, step):
        self._barriers.wait(step["wait"], self._deadline)

    def _do_signal(self, step):
        self._barriers.signal(step["signal"])

    def _do_let_pass(self, step):
        """Time is the subject here (a lifetime ends), not the order of events."""
        self._transcript.note("scenario", f"lets {step['let_pass_s']} s pass")
        time.sleep(step["let_pass_s"])

    def _origin(self, argument):
        return self._origins[argument.get("name", next(iter(self._origins)))]

    def _do_origin(self, step):
        """Judges what an origin has received so far."""
        argument = step["origin"]
        origin = self._origin(argument)
        seen = origin.seen(argument.get("path"), argument.get("method"))
        where = f"the number of requests for {argument.get('path', 'anything')} at {origin.name}"
        if "requests" in argument:
            expect.demand(where, len(seen), argument["requests"])
        if "connections" in argument:
            expect.demand(f"connections to {origin.name}", origin.connections,
                          argument["connections"])
        for key, index in (("first", 0), ("last", -1)):
            if key in argument:
                if not seen:
                    raise expect.Unmet(f"{where} is 0")
                expect.check_request(seen[index], argument[key])

    def _do_wait_origin(self, step):
        argument = step["wait_origin"]
        self._origin(argument).wait_for(argument.get("path"), argument.get("method"),
                                        argument.get("requests", 1), self._limit(argument))

    def _do_origin_control(self, step):
        argument = step["origin_control"]
        origin = self._origin(argument)
        if argument["do"] == "refuse":
            origin.refuse()
        elif argument["do"] == "accept":
            origin.accept_again()
        else:
            raise documents.DocumentError(f"unknown origin_control {argument['do']!r}")

    def _do_admin(self, step):
        argument = step["admin"]
        status, headers, body = self._proxy.admin(argument.get("method", "GET"), argument["path"],
                                                  argument.get("send"))
        want = argument.get("expect", {"status": 200})
        unknown = set(want) - {"status", "body", "json", "headers", "prometheus"}
        if unknown:
            raise documents.DocumentError(f"unknown admin expectation {sorted(unknown)}")
        expect.demand("the admin's status", status, want.get("status", 200))
        text = body.decode("utf-8", "replace")
        for name, value in want.get("headers", {}).items():
            expect.demand(f"the admin's {name}", headers.get(name), value)
        if "body" in want:
            expect.demand("the admin's answer", text, want["body"])
        if want.get("prometheus"):
            Exposition(text)
        if "json" in want:
            try:
                expect.check_json(json.loads(text), want["json"])
            except ValueError as error:
                raise expect.Unmet(f"not JSON from the admin ({error}): {text[:200]}") from None

    def _do_reload(self, step):
        """Writes another configuration and asks for it."""
        argument = step["reload"]
        options = argument.get("config")
        if options is not None:
            merged = proxy.merge(self._config_options, options) if argument.get("merge", True) \
                else copy.deepcopy(options)
            self._write_config(merged)
        if argument.get("by", "admin") == "admin":
            self._do_admin({"admin": {"method": "POST", "path": "/reload",
                                      "expect": argument.get("expect", {"status": 200})}})
            self._proxy.refresh_listeners()
        elif argument["by"] == "signal":
            self._proxy.signal("SIGHUP")

    def _do_process(self, step):
        """Stops, kills, starts or signals the process."""
        for action in step["process"] if isinstance(step["process"], list) else [step["process"]]:
            if action == "stop":
                self._proxy.stop()
            elif action == "kill":
                self._proxy.kill()
            elif action == "start":
                self._start_proxy(step)
            elif action == "exits":
                self._proxy.wait_exit(step.get("code", 0))
            elif action.startswith("SIG"):
                self._proxy.signal(action)
            else:
                raise documents.DocumentError(f"unknown process action {action!r}")
            if action in ("stop", "kill"):
                with self._lock:
                    self._clients.clear()

    def _do_start_refused(self, step):
        """A start that must fail, with what it says on standard error."""
        argument = step["start_refused"]
        self._write_config(proxy.merge(self._config_options, argument.get("config", {})))
        code, text = self._proxy.start_refused(argument.get("flags", []), argument.get("forbid"))
        expect.demand("the exit code of the start", code, argument.get("code", 1))
        expect.demand("what the start says", text, argument["says"])


_VERBS = {
    "wait": Scenario._do_wait,
    "signal": Scenario._do_signal,
    "let_pass_s": Scenario._do_let_pass,
    "origin": Scenario._do_origin,
    "wait_origin": Scenario._do_wait_origin,
    "origin_control": Scenario._do_origin_control,
    "admin": Scenario._do_admin,
    "reload": Scenario._do_reload,
    "process": Scenario._do_process,
    "start_refused": Scenario._do_start_refused,
    "client": Scenario._do_client,
}
