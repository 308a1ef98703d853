"""The tests of Tests/Cluster/run: see there."""

import argparse
import math
import pathlib
import signal
import sys

import outcomes
import races
import replica
import storm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("what", choices=["faults", "outcomes", "races", "replica"])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--longest-pause", type=float, default=math.inf)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.what == "races":
        races.main(arguments.folder, arguments.bin, arguments.count, arguments.kind)
    elif arguments.what == "outcomes":
        outcomes.main(arguments.folder, arguments.bin, arguments.count)
    elif arguments.what == "replica":
        replica.main(arguments.folder, arguments.bin)
    else:
        storm.main(arguments.folder, arguments.bin, arguments.minutes, arguments.longest_pause)


main()
