"""The program under test: its configuration, its process, its admin."""

import copy
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import yaml

from harness.wire import TimedOut

FOLDER = os.path.dirname(os.path.abspath(__file__))
START_SECONDS = 20
STOP_SECONDS = 15
_FAULT = re.compile(r"(?:Sanitizer|CHECK|Assertion|runtime error|terminate called|Segmentation).*")


class ProcessError(Exception):
    """The process did not do what a process has to do."""


def merge(base, changes):
    """`changes` over `base`: mappings merge, everything else replaces; null removes."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return copy.deepcopy(changes)
    merged = dict(base)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def socket_address(address, port):
    return {"socket_address": {"address": address, "port_value": port}}


def default_config(folder, clusters, options, defaults=None):
    """One listener, one cluster an origin, one small cache, and what the scenario changes.

    `defaults` is what a whole run is made with: `engine` and `disk_io`, each may be missing.
    """
    defaults = defaults or {}

    def route(cluster):
        return {"match": {"prefix": "/"},
                "route": merge({"cluster": cluster, "timeout": "15s"}, options.get("route", {})),
                "cache": merge({"store": "main"}, options.get("policy", {}))}
    first = next(iter(clusters), "origin")
    hosts = options.get("virtual_hosts") or [{
        "name": "everything", "domains": ["*"],
        "routes": options.get("routes") or [route(first)]}]
    listener = merge({"name": "http", "address": socket_address("127.0.0.1", 0),
                      "route_config": {"virtual_hosts": hosts}}, options.get("listener", {}))
    cluster_list = [merge({
        "name": name, "type": "STATIC", "connect_timeout": "2s",
        "load_assignment": {"endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": socket_address("127.0.0.1", port)}}]}]},
    }, options.get("cluster", {})) for name, port in clusters.items()]
    cache = merge({"name": "main", "path": os.path.join(folder, "cache"),
                   "max_size_bytes": 134217728, "memory_bytes": 16777216}, options.get("cache", {}))
    if "disk_io" in defaults:
        chosen = {"disk_io": defaults["disk_io"]}
        if defaults["disk_io"] == "SENDFILE":
            chosen["direct_io"] = False
        cache = merge(chosen, cache)
    runtime = {"shards": 2, **({"engine": defaults["engine"]} if "engine" in defaults else {})}
    config = {
        "admin": {"address": socket_address("127.0.0.1", 0)},
        "runtime": merge(runtime, options.get("runtime", {})),
        "static_resources": {"listeners": [listener] + options.get("more_listeners", []),
                             "clusters": cluster_list + options.get("more_clusters", []),
                             "caches": [cache] + options.get("more_caches", [])},
    }
    return merge(config, options.get("merge", {}))


CONFIG_KEYS = {"route", "routes", "policy", "virtual_hosts", "listener", "cluster", "cache",
               "runtime", "merge", "more_listeners", "more_clusters", "more_caches", "text"}


class Proxy:
    """One run of a scenario's process, with restarts; everything it owns is in one folder."""

    def __init__(self, binary, transcript, deadline):
        self._binary = binary
        self._transcript = transcript
        self._deadline = deadline
        self._folder = tempfile.TemporaryDirectory(prefix="scenario-")
        self.folder = self._folder.name
        os.makedirs(os.path.join(self.folder, "cache"))
        self.config_path = os.path.join(self.folder, "config.yaml")
        self._log_path = os.path.join(self.folder, "log")
        self._process = None
        self.admin_address = None
        self.listeners = {}

    @property
    def pid(self):
        return self._process.pid

    def write_config(self, config):
        """Replaces the file at once, as an operator's editor does."""
        text = config if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False)
        with open(self.config_path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.config_path + ".new", self.config_path)

    def _command(self, flags, forbid):
        """`forbid` maps names of system calls to the errors that they fail with."""
        command = [self._binary, "-c", self.config_path, *flags]
        if forbid:
            calls = [f"{call}={error}" for call, error in forbid.items()]
            command = [sys.executable, os.path.join(FOLDER, "forbid.py"), *calls, "--", *command]
        return command

    def start(self, flags=(), forbid=None):
        address_file = os.path.join(self.folder, "admin_address")
        if os.path.exists(address_file):
            os.remove(address_file)
        command = self._command(["--admin-address-path", address_file, *flags], forbid)
        self._transcript.note("proxy", "starts")
        with open(self._log_path, "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, cwd=self.folder)
        limit = min(self._deadline, time.monotonic() + START_SECONDS)
        while not self._is_ready(address_file):
            if self._process.poll() is not None:
                raise ProcessError(f"exited with {self._process.returncode} at start: "
                                   f"{self.log_tail(400)}")
            if time.monotonic() > limit:
                raise TimedOut("the process did not become ready")
            time.sleep(0.01)
        self.refresh_listeners()

    def start_refused(self, flags=(), forbid=None):
        """(exit code, standard error) of a start that is expected to fail."""
        done = subprocess.run(self._command(list(flags), forbid), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              timeout=START_SECONDS, check=False)
        text = done.stderr.decode("utf-8", "replace")
        self._transcript.note("proxy", f"start ended with {done.returncode}: {text}")
        return done.returncode, text

    def _is_ready(self, address_file):
        try:
            with open(address_file, encoding="utf-8") as file:
                text = file.read().strip()
        except FileNotFoundError:
            return False
        if ":" not in text:
            return False
        host, port = text.rsplit(":", 1)
        self.admin_address = (host.strip("[]"), int(port))
        try:
            return self.admin("GET", "/ready")[0] == 200
        except OSError:
            return False

    def refresh_listeners(self):
        status, _, body = self.admin("GET", "/listeners?format=json")
        if status != 200:
            raise ProcessError(f"/listeners?format=json answered {status}")
        self.listeners = {}
        for one in json.loads(body)["listener_statuses"]:
            address = one["local_address"]["socket_address"]
            self.listeners[one["name"]] = (address["address"], int(address["port_value"]))

    def address(self, listener=None):
        if listener is None:
            listener = next(iter(self.listeners))
        host, port = self.listeners[listener]
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port

    def admin(self, method, path, body=None):
        """(status, headers, body) of a call to the admin."""
        left = max(0.5, self._deadline - time.monotonic())
        connection = http.client.HTTPConnection(*self.admin_address, timeout=left)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            data = response.read()
        except http.client.HTTPException as error:
            raise ProcessError(f"{method} {path} at the admin: {error!r}") from None
        finally:
            connection.close()
        self._transcript.note("admin", f"{method} {path} -> {response.status} ", data)
        return response.status, response.headers, data

    def signal(self, name):
        self._transcript.note("proxy", f"gets {name}")
        self._process.send_signal(getattr(signal, name))

    def wait_exit(self, want=0):
        limit = max(1.0, min(self._deadline - time.monotonic(), STOP_SECONDS))
        try:
            code = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            raise TimedOut("the process did not exit") from None
        self._transcript.note("proxy", f"exited with {code}")
        if want is not None and code != want:
            raise ProcessError(f"exited with {code}, expected {want}: {self.log_tail(400)}")

    def running(self):
        return self._process is not None and self._process.poll() is None

    def stop(self):
        self.signal("SIGTERM")
        self.wait_exit()

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._transcript.note("proxy", "was killed")

    def log_tail(self, size=3000):
        try:
            with open(self._log_path, "rb") as file:
                return file.read()[-size:].decode("utf-8", "replace")
        except OSError:
            return ""

    def faults(self):
        """Lines of the log that only a broken program writes."""
        return [m.group(0) for m in _FAULT.finditer(self.log_tail(1 << 20))]

    def cleanup(self):
        if self.running():
            self.kill()
        self._folder.cleanup()
