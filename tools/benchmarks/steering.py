"""`steering`: the kernel's hash against steering by receive queue, between network namespaces."""

import os
import subprocess

from tools.benchmarks import experiment, load, machine, report, servers

NETWORK = "198.18.77"  # of the range that RFC 2544 sets aside for benchmarks
SETTINGS = ("HASH", "QUEUE_MAPPING", "CPU")


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise machine.Missing(f"ip {' '.join(arguments)}: {done.stdout.strip()}; namespaces need "
                              "root")


class Veth:
    """A pair of virtual interfaces of several queues, the far end in a namespace of its own."""

    def __init__(self, queues):
        self.namespace = f"rf-bench-{os.getpid()}"
        self.near = f"rfb{os.getpid() % 100000}s"
        self.far = f"rfb{os.getpid() % 100000}c"
        self.queues = queues
        ip("netns", "add", self.namespace)
        try:
            some = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
            ip("link", "add", self.near, *some, "type", "veth", "peer", "name", self.far, *some)
            ip("link", "set", self.far, "netns", self.namespace)
            ip("addr", "add", f"{NETWORK}.1/24", "dev", self.near)
            ip("link", "set", self.near, "up")
            for command in (["addr", "add", f"{NETWORK}.2/24", "dev", self.far],
                            ["link", "set", self.far, "up"], ["link", "set", "lo", "up"]):
                ip("-n", self.namespace, *command)
            self._spread()
        except machine.Missing:
            self.close()
            raise

    def _spread(self):
        """Queue i is worked on by CPU i, as a network card's interrupts would have it."""
        for queue, cpu in zip(range(self.queues), machine.cpus()):
            path = f"/sys/class/net/{self.near}/queues/rx-{queue}/rps_cpus"
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write(f"{1 << cpu:x}")
            except OSError:
                pass  # a kernel without receive packet steering

    def enter(self):
        return ["ip", "netns", "exec", self.namespace]

    def close(self):
        for command in (["link", "del", self.near], ["netns", "del", self.namespace]):
            subprocess.run(["ip", *command], stderr=subprocess.DEVNULL, check=False)


def shares(server):
    """How unevenly the shards were chosen: the busiest one's part of all connections."""
    accepted = [shard["connections_accepted"] for shard in server.shards()["shards"]]
    return 100 * max(accepted) / max(1, sum(accepted))


def steering(context):
    """Hash against steered: latency over thousands of connections, in interleaved runs."""
    machine.need("wrk", "nginx", "ip")
    everything = len(machine.cpus())
    if everything < 2:
        raise machine.Missing("there is one CPU; steering needs a shard on each of several")
    connections = 400 if context.quick else 4000
    size = "100k"  # the most that memory holds in one piece is 256 KiB
    objects = load.Objects(f"/{size}/s", 50, servers.SIZES[size])
    veth = Veth(everything)
    bed = servers.Bed(context.folder, machine.Placement(everything),
                      context.binaries("ringfence"))
    table = report.Table(
        f"steering: {connections} connections, {size} objects from memory, {everything} shards",
        ("steering",),
        [report.Measure("p99_ms", "P99 ms", 1, False), report.Measure("avg_ms", "avg ms", 1, False),
         report.Measure("stdev_ms", "stdev ms", 1, False),
         report.Measure("max_ms", "max ms", 1, False), report.Measure("rps", "requests/s"),
         report.Measure("busiest", "busiest shard %", 1, False),
         report.Measure("errors", "errors", 0, False)],
        ["over a pair of virtual interfaces with a queue for each shard, the client in a namespace "
         "of its own; client and server share the CPUs, so this shows that steering works and "
         "what it costs, not what a network card would gain"])
    wrk = load.Wrk(context.folder, machine.cpus(), threads=everything, enter=veth.enter())
    seconds = context.seconds(10, 3)
    try:
        servers.start_origin(bed, host=f"{NETWORK}.1")

        def measure(row, number):
            server = servers.start_ringfence(
                bed, f"ringfence-{row[0].lower()}", host=f"{NETWORK}.1",
                listener={"steering": row[0]}, cache={"memory_bytes": 1 << 28})
            try:
                wrk.fill(server.address, objects)
                sample = wrk.run(server.address, objects, connections, seconds, seed=number)
                sample["busiest"] = shares(server)
                load.check_bodies(bed.root, server.host, server.port, objects, number)
            finally:
                bed.end(server)
            return sample
        experiment.interleave(context, table, [(setting,) for setting in SETTINGS], measure)
        for setting in SETTINGS[1:]:
            for key in ("p99_ms", "avg_ms", "stdev_ms", "max_ms"):
                table.compare((setting,), ("HASH",), key)
    finally:
        bed.close()
        veth.close()
    context.tables.append(table)


EXPERIMENTS = {"steering": (steering, ["ringfence"])}
