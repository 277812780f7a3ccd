"""This machine: processes and their CPU time, CPUs, memory limits, free ports."""

import os
import shutil
import signal
import socket
import subprocess
import time

PATIENCE_S = 30


class Missing(Exception):
    """Something that an experiment needs is not here; the text says what would provide it."""


PACKAGES = {"wrk": "wrk", "fio": "fio", "nginx": "nginx-light", "varnishd": "varnish",
            "haproxy": "haproxy", "traffic_server": "trafficserver", "ip": "iproute2"}


def has(command):
    return shutil.which(command) is not None


def need(*commands):
    missing = [command for command in commands if not has(command)]
    if missing:
        names = " ".join(PACKAGES.get(command, command) for command in missing)
        raise Missing(f"{', '.join(missing)} not found; apt-get install {names}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def cpus():
    return sorted(os.sched_getaffinity(0))


class Placement:
    """Which CPUs the servers have, and which the load. With one CPU they share it."""

    def __init__(self, shards):
        all_cpus = cpus()
        self.server = all_cpus[-shards:] if shards < len(all_cpus) else all_cpus
        rest = [cpu for cpu in all_cpus if cpu not in self.server]
        self.client = rest or all_cpus
        self.shared = not rest

    @staticmethod
    def pin(some):
        return ["taskset", "-c", ",".join(map(str, some))]


def tree(pid):
    """The process and all below it."""
    found = [pid]
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
        except OSError:
            continue
        for child in children:
            found += tree(child)
    return found


def thread_times(pid):
    """CPU seconds of every thread below, by (thread id, name): precise, from the scheduler."""
    times = {}
    for process in set(tree(pid)):
        folder = f"/proc/{process}/task"
        try:
            threads = os.listdir(folder)
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"{folder}/{thread}/schedstat", encoding="ascii") as file:
                    ns = int(file.read().split()[0])
                with open(f"{folder}/{thread}/comm", encoding="utf-8") as file:
                    times[(int(thread), file.read().strip())] = ns / 1e9
            except (OSError, IndexError, ValueError):
                continue  # it has ended meanwhile
    return times


def cpu_seconds(pid):
    return sum(thread_times(pid).values())


def resident_mib(pid):
    total = 0
    for process in set(tree(pid)):
        try:
            with open(f"/proc/{process}/status", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        except OSError:
            continue
    return total / 1024


class Process:
    """A server in the background; stop() ends it and what it started."""

    def __init__(self, name, command, folder, pin=None, memory=None, env=None):
        self.name = name
        self.log_path = os.path.join(folder, f"{name}.log")
        enter = memory.enter if memory is not None else None
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                (Placement.pin(pin) if pin else []) + command, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, preexec_fn=enter, env=env, start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def await_port(self, host, port):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not self.alive():
                break
            try:
                socket.create_connection((host, port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{self.name} does not answer; it wrote:\n{self.log_tail()}")

    def log_tail(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def stop(self):
        members = tree(self.pid)
        for how in (signal.SIGTERM, signal.SIGKILL):
            for pid in reversed(members):
                try:
                    os.kill(pid, how)
                except OSError:
                    pass
            try:
                self.process.wait(PATIENCE_S)
                return
            except subprocess.TimeoutExpired:
                continue


class MemoryLimit:
    """A memory cgroup of our own (version 2 or 1); raises Missing where there is none to be had."""

    def __init__(self, name):
        self.folder = None
        label = f"ringfence-bench-{os.getpid()}-{name}"
        version2 = "/sys/fs/cgroup"
        version1 = "/sys/fs/cgroup/memory"
        if os.path.exists(os.path.join(version2, "cgroup.controllers")):
            parent, self.field = version2, "memory.max"
        else:
            parent, self.field = version1, "memory.limit_in_bytes"
        try:
            os.mkdir(os.path.join(parent, label))
        except OSError as error:
            raise Missing(f"no memory limit can be set ({error}); root and a writable "
                          f"{parent} are needed") from None
        self.folder = os.path.join(parent, label)
        if not os.path.exists(os.path.join(self.folder, self.field)):
            self.remove()
            raise Missing(f"the memory controller is not enabled below {parent}")

    def enter(self):
        """In the child, before it runs its program."""
        self._write("cgroup.procs", str(os.getpid()))

    def limit(self, mib):
        self._write(self.field, str(mib << 20))

    def _write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(text)

    def remove(self):
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.1)


def drop_page_cache():
    """False where that is not allowed."""
    subprocess.run(["sync"], check=False)
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3")
        return True
    except OSError:
        return False


def describe():
    """One line for the head of a report."""
    model = "unknown CPU"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file
                         if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return (f"{len(cpus())} CPUs ({model}), {memory} MiB memory, "
            f"Linux {os.uname().release}, load average {os.getloadavg()[0]:.1f}")
