"""What Tests/cluster runs: see there."""

import argparse
import pathlib
import signal
import sys

import races


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("what", choices=["races"])
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    races.main(arguments.folder, arguments.bin, arguments.count)


main()
