"""The workloads of `rivals`, `floor` and `disk`, and one measurement of one server under one."""

import dataclasses

from tools.benchmarks import load, machine, report, servers


@dataclasses.dataclass(frozen=True)
class Work:
    """`count` objects of one size, asked for at random by so many connections."""
    path: str
    size: str
    count: int
    connections: int
    memory_mib: int = 0  # limit of the whole server; 0: none
    cacheable: bool = True

    @property
    def disk(self):
        return self.memory_mib > 0

    @property
    def objects(self):
        return load.Objects(self.path, self.count, servers.SIZES[self.size])

    def smaller(self, divisor):
        """The same with fewer objects, and a limit that is still below them."""
        return dataclasses.replace(self, count=self.count // divisor)


WORKS = {
    "hot-1k": Work("/1k/h", "1k", 1, 64),
    "mem-4k": Work("/4k/m", "4k", 1000, 64),
    "mem-100k": Work("/100k/m", "100k", 500, 64),
    "disk-4k": Work("/4k/d", "4k", 100000, 256, 160),
    "disk-100k": Work("/100k/d", "100k", 12000, 256, 256),
    "disk-1m": Work("/1m/d", "1m", 1500, 64, 256),
    "pass-1k": Work("/nocache/1k/p", "1k", 100000, 64, cacheable=False),
    "many-conns": Work("/1k/h", "1k", 1, 4000),
}

MEASURES = [
    report.Measure("rps", "requests/s"), report.Measure("mbps", "MB/s"),
    report.Measure("p50_ms", "p50 ms", 2, False), report.Measure("p99_ms", "p99 ms", 2, False),
    report.Measure("cpu_us", "CPU us/request", 1, False),
    report.Measure("rss_mib", "RSS MiB", 0, False), report.Measure("errors", "errors", 0, False)]


def ringfence_options(work):
    """The cache of a Ringfence for this work."""
    total = work.count * (servers.SIZES[work.size] + 2048)
    cache = {"max_size_bytes": max(1 << 28, total * 3 // 2),
             "memory_bytes": (8 << 20) if work.disk else (1 << 29)}
    runtime = {"buffer_pool_bytes_per_shard": 32 << 20} if work.disk else {}
    return {"cache": cache, "runtime": runtime}


def fill(wrk, server, work):
    if work.cacheable:
        wrk.fill(server.address, work.objects)


def measure(bed, wrk, server, work, seconds, number, check=True):
    """One round: its figures. Raises if a body is not the origin's."""
    if work.disk:
        machine.drop_page_cache()
    before = machine.cpu_seconds(server.pid)
    sample = wrk.run(server.address, work.objects, work.connections, seconds, seed=number)
    used = machine.cpu_seconds(server.pid) - before
    sample["cpu_us"] = used * 1e6 / max(1, sample["requests"])
    sample["rss_mib"] = machine.resident_mib(server.pid)
    if check:
        load.check_bodies(bed.root, server.host, server.port, work.objects, number)
    return sample
