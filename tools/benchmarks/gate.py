"""Instructions that a shard executes for one request, by callgrind, against what is recorded."""

import argparse
import glob
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tools.benchmarks import machine, servers

RECORD = os.path.join(servers.ROOT, "docs", "hot_path.json")
GROWTH_PERCENT = 6  # two runs of one binary were up to 5 % apart
WARM = 300
REQUESTS = 1000
RUNS = 3  # the least counts: a loaded machine adds turns of the reactor, and never takes any
PATIENCE_S = 120
# What is asked for again and again: path, request fields, status; with or without the memory tier.
WORKS = {
    "memory-hit": ("/hot", {}, 200, 16 << 20),
    "not-modified": ("/hot", {"If-None-Match": '"one"'}, 304, 16 << 20),
    "range": ("/hot", {"Range": "bytes=10-99"}, 206, 16 << 20),
    "disk-hit": ("/hot", {}, 200, 0),
}
BODY = "x" * 2000


def configuration(folder, ports, memory_bytes):
    """A cache in front of a listener of the same process, which answers by itself."""
    def listener(name, port, route, **more):
        return {"name": name, "address": {"socket_address": {"address": "127.0.0.1",
                                                             "port_value": port}},
                "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
                                                    "routes": [route], **more}]}}
    fields = {"Cache-Control": "max-age=86400", "ETag": '"one"'}
    return {
        "runtime": {"shards": 1, "engine": "EPOLL"},
        "static_resources": {
            "listeners": [
                listener("http", ports[0], {"match": {"prefix": "/"}, "route": {"cluster": "self"},
                                            "cache": {"store": "main"}}),
                listener("origin", ports[1],
                         {"match": {"prefix": "/"}, "direct_response": {
                             "status": 200, "body": {"inline_string": BODY}}},
                         response_headers_to_add=[{"header": {"key": key, "value": value}}
                                                  for key, value in fields.items()])],
            "clusters": [{"name": "self", "load_assignment": {"endpoints": [{"lb_endpoints": [{
                "endpoint": {"address": {"socket_address": {
                    "address": "127.0.0.1", "port_value": ports[1]}}}}]}]}}],
            "caches": [{"name": "main", "path": os.path.join(folder, "cache"),
                        "max_size_bytes": 64 << 20, "memory_bytes": memory_bytes}]}}


def ask(connection, path, fields, status, times):
    for _ in range(times):
        connection.request("GET", path, headers=fields)
        response = connection.getresponse()
        response.read()
        if response.status != status:
            raise RuntimeError(f"{path}: status {response.status}, not {status}")


def control(pid, flag):
    done = subprocess.run(["callgrind_control", flag, str(pid)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or "OK" not in done.stdout:
        raise RuntimeError(f"callgrind_control {flag}: {done.stdout.strip()}")


def busiest_thread(pattern):
    """Instructions of the thread that executed most: the shard."""
    most = 0
    for path in glob.glob(pattern):
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)
        most = max(most, int(found.group(1)) if found else 0)
    return most


def connect(process, port):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.alive():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.connect()
            return connection
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"it does not answer; it wrote:\n{process.log_tail()}")


def measure(binary, folder, name):
    path, fields, status, memory_bytes = WORKS[name]
    place = os.path.join(folder, name)
    os.makedirs(place)
    ports = machine.free_port(), machine.free_port()
    config = os.path.join(place, "config.yaml")
    with open(config, "w", encoding="utf-8") as file:
        json.dump(configuration(place, ports, memory_bytes), file)
    out = os.path.join(place, "out")
    process = machine.Process(name, [
        "valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}",
        binary, "-c", config], place)
    try:
        connection = connect(process, ports[0])
        ask(connection, "/hot", {}, 200, 1)
        ask(connection, path, fields, status, WARM)
        control(process.pid, "-z")
        ask(connection, path, fields, status, REQUESTS)
        control(process.pid, "-d")
    finally:
        process.stop()
    return round(busiest_thread(f"{out}.1-*") / REQUESTS)


def judge(name, now, recorded):
    """A line, and whether it is within the gate."""
    before = recorded.get(name)
    if before is None:
        return f"{name:14} {now:8} instructions a request; not recorded yet (--record)", False
    change = now / before - 1
    grown = now * 100 > before * (100 + GROWTH_PERCENT)
    return (f"{name:14} {now:8} instructions a request, {change * 100:+.1f} % against {before}"
            + (f": more than {GROWTH_PERCENT} % more" if grown else ""), not grown)


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/bench_gate",
        description="Counts the instructions that a shard executes for a request, under "
                    "callgrind, and compares them with docs/hot_path.json. Fails when one has "
                    f"grown by more than {GROWTH_PERCENT} %. Needs valgrind.")
    parser.add_argument("--record", action="store_true", help="write the figures to that file")
    parser.add_argument("--binary",
                        default=os.path.join(servers.ROOT, "bazel-bin", "source", "ringfence"),
                        help="built with -c opt; default: bazel-bin/source/ringfence")
    options = parser.parse_args(arguments)
    if not machine.has("valgrind") or not os.path.exists(options.binary):
        print("tools/bench_gate: needs valgrind (apt-get install valgrind) and "
              f"{options.binary}", file=sys.stderr)
        return 2
    recorded = {}
    if os.path.exists(RECORD):
        with open(RECORD, encoding="utf-8") as file:
            recorded = json.load(file)
    folder = tempfile.mkdtemp(prefix="ringfence-gate-")
    try:
        figures = {name: min(measure(options.binary, tempfile.mkdtemp(dir=folder), name)
                             for _ in range(RUNS)) for name in WORKS}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    verdicts = [judge(name, now, recorded) for name, now in figures.items()]
    print("\n".join(line for line, _ in verdicts), flush=True)
    if options.record:
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
            file.write("\n")
        return 0
    return 0 if all(good for _, good in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
