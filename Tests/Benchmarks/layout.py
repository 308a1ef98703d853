"""Writes the list of the functions that frequent requests run, for the linker: next to each other, they need fewer pages and less of the
processor's caches."""

import collections
import subprocess

from contenders import ROOT
from load import CONNECTIONS, load_with
from preferences import BODY, PATH
from relay import PATH as AGENT_PATH, pair, start_agent
from tokens import write_callers

LIST = ROOT / "Sources/linking/frequent-functions"
DEVICES = 20_000
HEAD = """\
# The functions that frequent requests run: the linker puts them next to each other.
# Written by Tests/Benchmarks/run layout. A name that no longer exists does no harm.
"""


def measure(stage, programs, rounds, seconds, budgets):
    site = stage.site
    site.seed("devices.sql", DEVICES)
    callers = write_callers(stage.directory / "callers", site, range(1, DEVICES + 1))
    responder = stage.fastcgi("responder", programs / "switchboard-responder", site.environment(),
                              under=valgrind(stage, "responder"))
    loads = [("GET", PATH, callers, seconds, None, 1), ("GET", PATH, callers, seconds, None, CONNECTIONS),
             ("POST", PATH, callers, seconds, BODY, CONNECTIONS)]
    requests = count(responder, loads)
    callers.write_text(f"{pair(site)} - -\n" * 2)
    relay = stage.relay("relay", programs / "switchboard-relay", start_agent(stage), under=valgrind(stage, "relay"))
    relayed = count(relay, [("GET", AGENT_PATH, callers, seconds)])
    stage.end()
    names = frequent(stage, "responder", programs, min(requests) // 2) | frequent(stage, "relay", programs, min(relayed) // 2)
    if not names:
        raise SystemExit("error: callgrind has counted no calls")
    LIST.write_text(HEAD + "".join(f"{name}\n" for name in sorted(names)))
    return f"{len(names)} functions written to {LIST.relative_to(ROOT)}, from {sum(requests)} and {sum(relayed)} requests"


def valgrind(stage, name):
    """The command that counts the calls in a program, after it was told to begin."""
    return ["/usr/bin/valgrind", "--tool=callgrind", "--instr-atstart=no", "--demangle=no", "--compress-strings=no",
            f"--callgrind-out-file={stage.directory}/{name}.calls"]


def count(contender, loads):
    """Counts the calls under the loads; how many requests each of them had."""
    load_with(contender, *loads[0])  # the start has ended, and callgrind listens
    subprocess.run(["callgrind_control", "-i", "on", *map(str, contender.pids())], stdout=subprocess.DEVNULL, check=True)
    return [load_with(contender, *load)["requests"] for load in loads]


def frequent(stage, name, programs, least):
    """The functions of the program, without those of shared libraries, that were called at least `least` times."""
    calls, function = collections.Counter(), None
    for line in (stage.directory / f"{name}.calls").read_text().splitlines():
        if line.startswith("cfn="):
            function = line.removeprefix("cfn=").partition("'")[0]  # f'2 is a call of f by itself
        elif line.startswith("calls="):
            calls[function] += int(line.removeprefix("calls=").split()[0])
    command = ["nm", "--defined-only", programs / f"switchboard-{name}"]
    symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {symbol.split()[-1] for symbol in symbols} & {called for called, count in calls.items() if count >= least}
