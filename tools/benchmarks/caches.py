"""`disk`, `rivals` and `floor`: whole servers under load."""

import json
import subprocess

from tools.benchmarks import experiment, load, machine, report, rival_servers, servers, work

DISK_IO = ("IO_URING", "LIBAIO", "SENDFILE")
FILE_MIB = 1024


class Stand:
    """The servers of one workload, started, filled and limited; skips those that cannot be had."""

    def __init__(self, context, bed, wrk, job):
        self.context = context
        self.bed = bed
        self.wrk = wrk
        self.job = job
        self.servers = {}

    def add(self, name, start, filled=True):
        """`start(memory)` gives a server."""
        self.context.progress.say(f"starting and filling {name}")
        memory = server = None
        try:
            if self.job.disk:
                memory = self.bed.memory(name.lower())
            server = start(memory)
            if filled:
                work.fill(self.wrk, server, self.job)
            if memory is not None:
                machine.drop_page_cache()
                memory.limit(self.job.memory_mib)
            self.servers[name] = server
        except (machine.Missing, RuntimeError, OSError) as error:
            self.context.skip(name, str(error).splitlines()[0][:200])
            if server is not None:
                self.bed.end(server)

    def measure(self, name, seconds, number):
        return work.measure(self.bed, self.wrk, self.servers[name], self.job, seconds, number,
                            check=name != "floor")

    def stop(self):
        for server in self.servers.values():
            self.bed.end(server)
        self.bed.unlimit()


def open_bed(context, shards, *binaries):
    machine.need("wrk", "nginx")
    bed = servers.Bed(context.folder, machine.Placement(shards), context.binaries(*binaries))
    servers.start_origin(bed)
    if bed.placement.shared:
        context.progress.say("the load shares CPUs with the servers")
    return bed, load.Wrk(context.folder, bed.placement.client)


def device_limit(context, bed, file, size):
    """What the disk gives at all, for the table's head: by fio if it is there, and by our ring."""
    notes = []
    block = servers.SIZES[size]
    pin = machine.Placement.pin(bed.placement.server[:1])
    done = subprocess.run(pin + [context.binary("ring_load"), "--target", file, "--block",
                                 str(block), "--depth", "64", "--seconds", "2"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        figures = json.loads(done.stdout)
        notes.append(f"the disk's limit for {size}, by ring_load, 64 reads under way: "
                     f"{figures['mbps']:.0f} MB/s, {figures['iops']:.0f} reads/s, "
                     f"{figures['cpu_us']:.1f} us CPU each")
    if not machine.has("fio"):
        return notes + [f"fio is not here for {size} (apt-get install fio)"]
    done = subprocess.run(
        pin + ["fio", "--name=limit", f"--filename={file}", "--rw=randread", "--direct=1",
               f"--bs={block}", "--iodepth=64", "--ioengine=io_uring", "--runtime=2",
               "--time_based", "--readonly", "--output-format=json"],
        stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return notes + [f"fio failed for {size}"]
    read = json.loads(done.stdout)["jobs"][0]["read"]
    return notes + [f"the disk's limit for {size}, by fio, 64 reads under way: "
                    f"{read['bw_bytes'] / 1e6:.0f} MB/s, {read['iops']:.0f} reads/s"]


def disk_options(job, how):
    options = work.ringfence_options(job)
    options["cache"].update(disk_io=how, memory_bytes=0, direct_io=how != "SENDFILE")
    return options


def disk_group(context, table, bed, wrk, group):
    """All ways of reading with one size and one number of shards, in interleaved rounds."""
    size, shards, job = group
    stand = Stand(context, bed, wrk, job)
    for how in DISK_IO:
        stand.add(f"{how}", lambda memory, how=how: servers.start_ringfence(
            bed, f"ringfence-{how.lower()}", memory=memory, **disk_options(job, how)))
    stand.add("nginx", lambda memory: rival_servers.start_nginx(bed, memory=memory, disk=True))
    seconds = context.seconds(5, 2)
    experiment.interleave(
        context, table, [(size, shards, name) for name in stand.servers],
        lambda row, number: stand.measure(row[2], seconds, number))
    stand.stop()
    for other in DISK_IO[1:] + ("nginx",):
        for key in ("mbps", "cpu_us"):
            table.compare((size, shards, "IO_URING"), (size, shards, other), key)


def disk(context):
    """Reads of a disk cache that is larger than memory: by way of reading, shards and size."""
    table = report.Table(
        "disk: random hits of a cache larger than the memory limit (cgroup)",
        ("objects", "shards", "disk_io"),
        [work.MEASURES[1], work.MEASURES[0]] + work.MEASURES[2:],
        ["every body of a sample in each round was compared with the origin's, by SHA-256",
         "nginx reads by sendfile, with as many workers as shards"])
    everything = len(machine.cpus())
    if machine.drop_page_cache() is False:
        context.skip("dropping the page cache", "root is needed; SENDFILE looks better than it is")
    for shards in sorted({1, everything}):
        bed, wrk = open_bed(context, shards, "ringfence", "ring_load")
        try:
            file = servers.big_file(bed, 256 if context.quick else FILE_MIB)
            for size in ("4k", "100k", "1m"):
                if context.quick and (shards > 1 and size != "4k"):
                    continue
                if shards == 1:
                    table.notes += device_limit(context, bed, file, size)
                job = work.WORKS[f"disk-{size}"]
                job = job.smaller(2) if context.quick else job
                disk_group(context, table, bed, wrk,
                           (size, "1" if shards == 1 else f"all ({shards})", job))
        finally:
            bed.close()
    context.tables.append(table)


def chosen_works(context, quick):
    names = context.options.work.split(",") if context.options.work else \
        (quick if context.quick else list(work.WORKS))
    unknown = set(names) - set(work.WORKS)
    if unknown:
        raise machine.Missing(f"there is no work {', '.join(unknown)}; there are "
                              + ", ".join(work.WORKS))
    return names


def start_all(stand, peers):
    """Ringfence, the floor and the rivals, as named in `peers`."""
    bed, job = stand.bed, stand.job
    starts = {"ringfence": lambda memory: servers.start_ringfence(
        bed, memory=memory, **work.ringfence_options(job))}
    if job.cacheable:
        file = servers.big_file(bed, FILE_MIB) if job.disk else None
        starts["floor"] = lambda memory: servers.start_floor(bed, servers.SIZES[job.size], file,
                                                             memory)
    for name, start in rival_servers.RIVALS.items():
        starts[name] = lambda memory, start=start: start(bed, memory=memory, disk=job.disk)
    for name, start in starts.items():
        if name in peers:
            stand.add(name, start, filled=name != "floor")


def compare_works(context, title, peers, quick_works):
    table = report.Table(
        title, ("work", "server"), work.MEASURES,
        [f"{len(machine.cpus())} CPUs: the servers have one, with one worker each; wrk and the "
         "origin have the others", "every body of a sample in each round was compared with the "
         "origin's, by SHA-256 (not the floor's, which has no origin)"])
    bed, wrk = open_bed(context, 1, "ringfence", "floor")
    seconds = context.seconds(5, 2)
    try:
        for name in chosen_works(context, quick_works):
            job = work.WORKS[name]
            job = job.smaller(2) if context.quick and job.disk else job
            stand = Stand(context, bed, wrk, job)
            start_all(stand, peers)
            experiment.interleave(
                context, table, [(name, server) for server in stand.servers],
                lambda row, number, stand=stand: stand.measure(row[1], seconds, number))
            for server in stand.servers:
                if server != "ringfence":
                    table.compare((name, "ringfence"), (name, server), "rps")
                    table.compare((name, "ringfence"), (name, server), "cpu_us")
            stand.stop()
    finally:
        bed.close()
    context.tables.append(table)


def rivals(context):
    """nginx, Varnish, HAProxy, Traffic Server and Ringfence on the same work, and the floor."""
    compare_works(context, "rivals: one server at a time on one CPU",
                  {"ringfence", "floor", *rival_servers.RIVALS}, ["hot-1k", "mem-100k", "disk-4k"])


def floor(context):
    """Ringfence against the least work that a server with one ring can do."""
    compare_works(context, "floor: Ringfence against the least work of a ring server",
                  {"ringfence", "floor"}, ["hot-1k", "mem-4k", "mem-100k", "disk-4k", "disk-100k"])


EXPERIMENTS = {
    "disk": (disk, ["ringfence", "ring_load"]),
    "rivals": (rivals, ["ringfence", "floor"]),
    "floor": (floor, ["ringfence", "floor"]),
}
