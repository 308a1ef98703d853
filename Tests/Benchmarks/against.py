"""GET and POST /api/v1/device-prefs of this release and of the previous one, in turn: the CPU of each request."""

import http.client
import json

from contenders import ROOT
from load import load_with
from preferences import BODY, DEVICES, LOADS, PATH
from tables import median, print_table, ratios
from tokens import access_token, write_callers

# On two processors with twenty other busy programs, the medians of a program against itself were 0.98 to 1.22, and of a
# debug build 0.30 to 0.73. A lone client sends too few requests there.
LEAST = 0.9
JUDGED = LOADS[1:]
FIGURES = {"the responder": lambda run: run["cpu"], "responder and MariaDB": lambda run: run["cpu"] + run["database"]}


def measure(stage, programs, rounds, seconds, budgets):
    site = stage.site
    callers = write_callers(stage.directory / "callers", site, range(1, DEVICES + 1))
    releases = {"new": start(stage, "new", programs, [ROOT / "schema.sql"]),
                "previous": start(stage, "previous", stage.options.against, schemas())}
    runs = {(name, load): [] for name in releases for load in LOADS}
    for number in range(-1, rounds):
        for load in LOADS:
            for name in sorted(releases, reverse=number % 2):
                run = one(site, *releases[name], load, callers, seconds if number >= 0 else 1)
                if number >= 0:  # the first warms up
                    runs[name, load].append(run)
    print_table((" request", "connections", " release", "requests/s", "responder CPU µs/request", "MariaDB CPU µs/request"), *(
        (*load, name, *(median([run[figure] for run in runs[name, load]], form)
                        for figure, form in (("rate", "{:,.0f}"), ("cpu", "{:.1f}"), ("database", "{:.1f}"))))
        for load in LOADS for name in releases))
    for load in JUDGED:
        for what, figure in FIGURES.items():
            new, previous = ([figure(run) for run in runs[name, load]] for name in ("new", "previous"))
            budgets.at_least(f"{load[0]} of {load[1]} clients, requests per CPU second of {what}: new / previous", ratios(previous, new), LEAST)
    return f"{rounds} rounds of {seconds} s each, in turn"


def schemas():
    """Those of the previous release come last before ours: its fixture is the highest number."""
    numbered = sorted((ROOT / "Tests/Fixtures/schema").glob("*.sql"), key=lambda path: int(path.stem), reverse=True)
    return [ROOT / "schema.sql", *numbered]


def start(stage, name, programs, candidates):
    """A responder with a database of its own, made by the first of the schemas that it accepts."""
    site = stage.site
    for number, schema in enumerate(candidates):
        database = f"{name}_{number}"
        site.make_database(database, schema)
        site.seed("devices.sql", DEVICES, database)
        contender = stage.fastcgi(database, programs / "switchboard-responder", site.environment(database))
        connection = http.client.HTTPConnection("127.0.0.1", contender.port, timeout=30)
        connection.request("GET", PATH, None, {"Authorization": f"Bearer {access_token(site, 1)}"})
        answer = connection.getresponse()
        if answer.status == 200 and "version" in json.loads(answer.read()):
            return contender, database
    raise SystemExit(f"error: the responder in {programs} accepts none of the schemas")


def one(site, contender, database, load, callers, seconds):
    method, connections = load
    site.sql("TRUNCATE rate_limits; TRUNCATE audit_log", database)
    return load_with(contender, method, PATH, callers, seconds, BODY if method == "POST" else None, connections)
