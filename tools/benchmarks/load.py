"""Load by wrk, on keep-alive connections, and bodies checked against the origin's."""

import contextlib
import hashlib
import http.client
import os
import random
import re
import subprocess
import time

from tools.benchmarks import machine

# Random objects out of WRK_N, or each in turn; small sets of requests are prepared beforehand.
LUA = r"""
local count, prefix = tonumber(os.getenv("WRK_N")), os.getenv("WRK_PREFIX")
local in_turn, prepared = os.getenv("WRK_FROM") ~= nil, nil
local at = tonumber(os.getenv("WRK_FROM") or "0")
local before, after
function init()
  math.randomseed(tonumber(os.getenv("WRK_SEED")))
  before = "GET " .. prefix
  after = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n\r\n"
  if count <= 20000 then
    prepared = {}
    for i = 1, count do prepared[i] = before .. i .. after end
  end
end
function request()
  local i
  if in_turn then at = at % count + 1; i = at else i = math.random(count) end
  return prepared and prepared[i] or before .. i .. after
end
function done(summary, latency)
  io.write(string.format("RESULT %d %d %d %f %f %f %f %f %d %d\n", summary.requests,
    summary.duration, summary.bytes, latency.mean, latency.stdev, latency.max,
    latency:percentile(50), latency:percentile(99),
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    summary.errors.status))
end
"""
RESULT = re.compile(r"RESULT" + r" ([\d.]+)" * 10)
CHECKED = 24  # bodies compared after every round
ORIGINS_OBJECTS = 10  # distinct bodies of each size


class Objects:
    """`count` objects of one size at the origin; number n is at prefix + n."""

    def __init__(self, prefix, count, size):
        self.prefix = prefix
        self.count = count
        self.size = size


class Wrk:
    """Runs wrk; all figures come from its own report."""

    def __init__(self, folder, cpus, threads=1, enter=()):
        self.script = os.path.join(folder, "wrk.lua")
        self.cpus = cpus
        self.threads = threads
        self.enter = list(enter)  # a command before it, such as `ip netns exec NAME`
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(LUA)

    def run(self, address, objects, connections, seconds, seed=1, from_object=None):
        """At random, or one after the other from a number on."""
        env = dict(os.environ, WRK_N=str(objects.count), WRK_PREFIX=objects.prefix,
                   WRK_SEED=str(seed))
        if from_object is not None:
            env["WRK_FROM"] = str(from_object)
        command = self.enter + machine.Placement.pin(self.cpus) + [
            "wrk", f"-t{self.threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s",
            "--timeout", "20s", "-s", self.script, f"http://{address}/"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=env, check=False)
        found = RESULT.search(done.stdout)
        if found is None:
            raise RuntimeError(f"wrk reported nothing: {done.stdout[-500:]}")
        numbers = [float(number) for number in found.groups()]
        requests, duration_us, size, mean, stdev, most, p50, p99, errors, statuses = numbers
        return {"requests": requests, "rps": requests / (duration_us / 1e6),
                "mbps": size / duration_us, "avg_ms": mean / 1e3, "stdev_ms": stdev / 1e3,
                "max_ms": most / 1e3, "p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3,
                "errors": errors + statuses}

    def fill(self, address, objects, connections=16, patience_s=240):
        """Asks for every object in turn, at least once each."""
        asked = rate = 0
        begun = time.monotonic()
        while asked < objects.count:
            if time.monotonic() - begun > patience_s:
                raise RuntimeError(f"{address} took only {asked} of {objects.count} objects")
            seconds = max(1, min(30, round((objects.count - asked) / rate))) if rate else 1
            result = self.run(address, objects, connections, seconds, from_object=asked)
            rate = max(1, result["rps"])
            # The last of each run were cut off, so they are asked for again.
            asked += max(0, int(result["requests"]) - 2 * connections)


def bodies(folder, size):
    """The origin's files of one size, by last digit of an object's number: made once."""
    name = os.path.join(folder, str(size))
    for digit in range(ORIGINS_OBJECTS):
        if not os.path.exists(f"{name}.{digit}.bin"):
            with open(f"{name}.{digit}.bin", "wb") as file:
                file.write(random.Random(size * 10 + digit).randbytes(size))


def check_bodies(root, host, port, objects, seed):
    """Compares a sample of responses with the origin's files; raises on the first that differs."""
    chooser = random.Random(seed)
    client = http.client.HTTPConnection(host, port, timeout=20)
    with contextlib.closing(client):
        return _compare(client, root, objects, chooser)


def _compare(client, root, objects, chooser):
    expected = {}
    for _ in range(CHECKED):
        number = chooser.randint(1, objects.count)
        digit = number % ORIGINS_OBJECTS
        if digit not in expected:
            with open(os.path.join(root, f"{objects.size}.{digit}.bin"), "rb") as file:
                expected[digit] = hashlib.sha256(file.read()).digest()
        client.request("GET", f"{objects.prefix}{number}")
        response = client.getresponse()
        body = response.read()
        if response.status != 200 or hashlib.sha256(body).digest() != expected[digit]:
            raise RuntimeError(f"{client.host}:{client.port}{objects.prefix}{number}: status "
                               f"{response.status}, {len(body)} bytes that are not the origin's")
    return CHECKED
