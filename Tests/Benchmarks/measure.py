"""Runs the selected parts of the benchmark and prints their tables. Called by Tests/Benchmarks/run."""

import os
import pathlib
import sys
import time

import apns
import deliveries
import logins
import polls
import preferences
import purge
import relay
import sizes
from contenders import Site, Stage
from tables import Budgets

PARTS = {"requests": [preferences], "delivery": [apns, deliveries, polls, sizes], "logins": [logins],
         "purge": [purge], "relay": [relay]}


def main():
    state, programs, part, rounds, seconds = sys.argv[1:]
    state, begin, load = pathlib.Path(state), time.monotonic(), os.getloadavg()[0]
    budgets = Budgets()
    notes = []
    for subject in PARTS[part]:
        with Stage(state, subject.__name__, Site(state)) as stage:
            notes.append(subject.measure(stage, pathlib.Path(programs), int(rounds), int(seconds), budgets))
    budgets.print()
    print(f"\n{'. '.join(notes)}. {os.cpu_count()} processors, shared with nginx, MariaDB, and all that gives load; load average "
          f"{load:.1f} before, {os.getloadavg()[0]:.1f} after; {time.monotonic() - begin:.0f} s.")


if __name__ == "__main__":
    main()
