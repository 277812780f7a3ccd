"""The servers under test: Ringfence, its rivals, the floor, and the origin behind them."""

import json
import os
import shutil
import urllib.request

from tools.benchmarks import load, machine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = {"1k": 1 << 10, "4k": 4 << 10, "100k": 100 << 10, "1m": 1 << 20}


class Server:
    """A running server: its process, where it listens, and how to stop it."""

    def __init__(self, process, port, host="127.0.0.1", admin=None):
        self.process = process
        self.port = port
        self.host = host
        self.admin = admin

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        self.process.stop()

    def shards(self):
        """/shards of a Ringfence, as JSON."""
        with urllib.request.urlopen(f"http://{self.admin}/shards?format=json", timeout=10) as page:
            return json.load(page)


class Bed:
    """A folder for one experiment, the CPUs, and the origin's port; close() ends everything."""

    def __init__(self, folder, placement, binaries):
        self.folder = folder
        self.placement = placement
        self.binaries = binaries
        self.servers = []
        self.limits = []
        self.root = os.path.join(folder, "root")
        os.makedirs(self.root, exist_ok=True)
        os.chmod(folder, 0o755)
        self.origin = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def clean(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)
        os.makedirs(self.path(name))
        return self.path(name)

    def start(self, name, command, port, memory=None, pin=None, env=None, host="127.0.0.1",
              admin=None):
        process = machine.Process(name, command, self.folder, memory=memory, env=env,
                                  pin=self.placement.server if pin is None else pin)
        server = Server(process, port, host, admin)
        self.servers.append(server)
        process.await_port(host, port)
        return server

    def memory(self, name):
        limit = machine.MemoryLimit(name)
        self.limits.append(limit)
        return limit

    def end(self, server):
        server.stop()
        self.servers.remove(server)

    def unlimit(self):
        """The limits of servers that have ended."""
        for limit in self.limits:
            limit.remove()
        self.limits = []

    def close(self):
        for server in reversed(self.servers):
            server.stop()
        self.servers = []
        self.unlimit()


def start_origin(bed, host="127.0.0.1", enter=()):
    """nginx with ten bodies of each size: /4k/ANY/123 is the one of the last digit, 3."""
    machine.need("nginx")
    for size in SIZES.values():
        load.bodies(bed.root, size)
    port = machine.free_port()
    def locations(prefix, cache_control):
        return "".join(f'location ~ ^{prefix}/{name}/.*(\\d)$ {{ '
                       f'add_header Cache-Control "{cache_control}"; '
                       f"try_files /{size}.$1.bin =404; }}\n" for name, size in SIZES.items())
    files = locations("", "public, max-age=864000")
    none = locations("/nocache", "no-store")
    conf = bed.write("origin.conf", f"""
worker_processes 1; daemon off; pid {bed.path("origin.pid")}; error_log {bed.path("origin.err")};
worker_rlimit_nofile 15000;
events {{ worker_connections 8192; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  open_file_cache max=200; default_type application/octet-stream;
  server {{ listen {host}:{port} backlog=4096; root {bed.root}; {none} {files} }} }}
""")
    bed.origin = bed.start("origin", list(enter) + ["nginx", "-c", conf], port, host=host,
                           pin=bed.placement.client)
    return bed.origin


def ringfence_config(bed, host, ports, options):
    """`options`: runtime, listener, cache: parts that are merged into the plain configuration."""
    def address(ip, port):
        return {"socket_address": {"address": ip, "port_value": port}}
    cache = {"name": "main", "path": options["folder"], "max_size_bytes": 1 << 30,
             **options.get("cache", {})}
    return {
        "admin": {"address": address(host, ports[1])},
        "runtime": {"shards": len(bed.placement.server), **options.get("runtime", {})},
        "static_resources": {
            "listeners": [{
                "name": "http", "address": address(host, ports[0]), **options.get("listener", {}),
                "route_config": {"virtual_hosts": [{
                    "name": "all", "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "origin"},
                                "cache": {"store": "main"}}]}]}}],
            "clusters": [{
                "name": "origin",
                "load_assignment": {"endpoints": [{"lb_endpoints": [{"endpoint": {
                    "address": address(bed.origin.host, bed.origin.port)}}]}]}}],
            "caches": [cache]}}


def start_ringfence(bed, name="ringfence", memory=None, host="127.0.0.1", enter=(), **options):
    folder = bed.path(f"{name}.cache")
    if not options.pop("keep", False):
        shutil.rmtree(folder, ignore_errors=True)
    ports = (machine.free_port(), machine.free_port())
    config = ringfence_config(bed, host, ports, {"folder": folder, **options})
    path = bed.write(f"{name}.yaml", json.dumps(config, indent=1))
    return bed.start(name, list(enter) + [bed.binaries["ringfence"], "-c", path], ports[0],
                     memory=memory, host=host, admin=f"{host}:{ports[1]}")


def start_floor(bed, size, file=None, memory=None, name="floor"):
    """The least work a one-thread ring server can do: no parsing, no cache."""
    port = machine.free_port()
    command = [bed.binaries["floor"], "--port", str(port), "--bytes", str(size)]
    if file is not None:
        command += ["--file", file]
    return bed.start(name, command, port, memory=memory, pin=bed.placement.server[:1])


def big_file(bed, mib):
    """A file of random bytes for the floor and for fio, larger than any memory limit."""
    path = bed.path(f"data.{mib}")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            for _ in range(mib):
                file.write(os.urandom(1 << 20))
    return path
