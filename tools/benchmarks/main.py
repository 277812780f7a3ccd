"""The command line of tools/bench."""

import argparse
import os
import resource
import signal
import sys
import tempfile

from tools.benchmarks import caches, experiment, machine, rings, steering

EXPERIMENTS = {**caches.EXPERIMENTS, **rings.EXPERIMENTS, **steering.EXPERIMENTS}


def parse(arguments):
    lines = [f"  {name:12} {run.__doc__.splitlines()[0]}"
             for name, (run, _) in sorted(EXPERIMENTS.items())]
    parser = argparse.ArgumentParser(
        prog="tools/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs an experiment on this machine: interleaved rounds, medians with half the "
                    "range of\nthe rounds, CPU, and the rank test of Mann and Whitney.\n\n"
                    + "\n".join(lines),
        epilog="Prints a table and writes it as text, as CSV (every round) and as SVG. What an "
               "experiment needs beyond\nthe build comes from Debian: wrk, nginx-light, iproute2; "
               "fio, varnish, haproxy and trafficserver are\nused where they are installed. Memory "
               "limits and namespaces need root.")
    parser.add_argument("experiment", choices=sorted(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true",
                        help="fewer and shorter rounds, within five minutes")
    parser.add_argument("--rounds", type=int, help="how often each row is measured")
    parser.add_argument("--seconds", type=float, help="how long one measurement takes")
    parser.add_argument("--work", help="rivals and floor: these workloads only, by comma")
    parser.add_argument("--output", default="bench-results", help="folder for the results")
    parser.add_argument("--work-folder", default=tempfile.gettempdir(),
                        help="where caches and files are put; on the disk to be measured")
    parser.add_argument("--keep", action="store_true", help="leave that folder behind")
    parser.add_argument("--skip-build", action="store_true", help="use what is in bazel-bin")
    parser.add_argument("--ringfence", help="another binary of Ringfence")
    parser.add_argument("--floor", help="another floor_server")
    parser.add_argument("--ring-load", dest="ring_load", help="another ring_load")
    options = parser.parse_args(arguments)
    for name, value in (("--rounds", options.rounds), ("--seconds", options.seconds)):
        if value is not None and value <= 0:
            parser.error(f"{name} must be more than 0")
    return options


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are stopped
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    run, needed = EXPERIMENTS[options.experiment]
    os.makedirs(options.work_folder, exist_ok=True)
    context = None
    try:
        targets = [experiment.TARGETS[name] for name in needed if not getattr(options, name)]
        if targets and not options.skip_build:
            experiment.build(targets, options)
        context = experiment.Context(options.experiment, options)
        run(context)
        context.finish()
    except machine.Missing as missing:
        print(f"tools/bench {options.experiment}: {missing}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if context is not None:
            context.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
