"""Runs the selected parts of the benchmark and prints their tables. Called by Tests/Benchmarks/run."""

import argparse
import importlib
import json
import os
import pathlib
import time

import tables
from contenders import Site, Stage

# The modules of each part. Only they are loaded, because each part needs other packages.
PARTS = {"requests": ["preferences"], "delivery": ["apns", "deliveries", "polls", "sizes"], "logins": ["logins"],
         "purge": ["purge"], "relay": ["relay"], "edge": ["edge"], "routes": ["routes"], "capacity": ["capacity"],
         "layout": ["layout"]}


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("part")
    for name in ("--rounds", "--seconds", "--devices"):
        parser.add_argument(name, type=int)
    for name in ("--json", "--against"):
        parser.add_argument(name, type=pathlib.Path)
    return parser.parse_args()


def main():
    given, begin, load = options(), time.monotonic(), os.getloadavg()[0]
    budgets, notes = tables.Budgets(), []
    for name in ["against"] if given.against else PARTS[given.part]:
        subject = importlib.import_module(name)
        with Stage(given.state, name, Site(given.state), given) as stage:
            notes.append(subject.measure(stage, given.programs, given.rounds, given.seconds, budgets))
    budgets.print()
    print(f"\n{'. '.join(notes)}. {os.cpu_count()} processors, shared with nginx, MariaDB, and all that gives load; load average "
          f"{load:.1f} before, {os.getloadavg()[0]:.1f} after; {time.monotonic() - begin:.0f} s.")
    if given.json:
        figures = {"part": given.part, "rounds": given.rounds, "seconds": given.seconds, "processors": os.cpu_count(),
                   "tables": tables.printed}
        given.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    if given.against and not budgets.are_met():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
