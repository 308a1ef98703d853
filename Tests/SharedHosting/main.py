"""The tests of Tests/SharedHosting/run: see there."""

import argparse
import pathlib
import signal
import sys

import cost
import steps
from host import Host


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("what", choices=["page", "measure"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    host = Host(arguments.folder, arguments.bin)
    try:
        if arguments.what == "page":
            steps.main(host)
        else:
            cost.main(host, arguments.rounds, arguments.seconds)
    finally:
        host.stop()


main()
