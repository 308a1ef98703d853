"""Every operation of /openapi.json, in a database with 1,000,000 devices and in one with the callers alone, in turn."""

import json
import statistics
import urllib.parse

import proofs
from callers import Caller, Person
from recipes import LEFT_OUT, RECIPES
from tables import Figure, print_table

# The largest ratio of the times, and the most rows that a request may read in addition.
MOST, FEW_ROWS = 1.3, 10
# The first request of an operation in each database is not counted.
UNCOUNTED = 1


def measure(stage, programs, rounds, _seconds, budgets):
    site, many = stage.site, stage.options.devices
    site.enlarge_database(12)
    # Each request has a person of its own, because some end the sign-in or delete the account.
    few = 130 * (rounds + UNCOUNTED)
    callers = {}
    for size in (few, many):
        database = f"routes_{size}"
        fill(site, database, size)
        contender = stage.fastcgi(database, programs / "switchboard-responder", environment(site, database))
        callers[size] = Caller(site, contender, database)
    for size in callers:
        site.read_all(f"routes_{size}")
    rows, slower, greedy = [], [], []
    operations = described_operations(callers[few])
    for place, (method, path, name, security) in enumerate(operations):
        if name in LEFT_OUT:
            continue
        found = {size: [] for size in callers}
        for number in range(rounds + UNCOUNTED):
            for size in sorted(callers, reverse=number % 2):
                person = Person(callers[size], 1 + (place * (rounds + UNCOUNTED) + number) * (size // few))
                figures = call(person, method, path, name, security)
                if number >= UNCOUNTED:
                    found[size].append(figures)
        times = {size: statistics.quantiles([seconds for seconds, _ in found[size]], n=4) for size in callers}
        read = [statistics.median(read for _, read in found[size]) for size in callers]
        ratio = times[many][0] / times[few][0]
        rows.append((f"{method} {path}", *(f"{times[size][1] * 1000:.2f}" for size in callers), Figure(f"{ratio:.2f}", ratio),
                     *(Figure(f"{count:.0f}", count) for count in read)))
        slower += [f"{method} {path}"] if ratio > MOST else []
        greedy += [f"{method} {path}"] if read[1] > read[0] + FEW_ROWS else []
    print_table((" request", f"ms, {few:,} devices", f"ms, {many:,} devices", "ratio", f"rows read, {few:,}", f"rows read, {many:,}"), *rows)
    print_table((" left out", " why"), *((f"{method} {path}", LEFT_OUT[name]) for method, path, name, _ in operations if name in LEFT_OUT))
    for what, exceptions in ((f"at most {MOST} times as long with {many:,} devices", slower),
                             (f"at most {FEW_ROWS} more rows read with {many:,} devices", greedy)):
        budgets.row(f"requests that take {what}" if exceptions is slower else f"requests with {what}",
                    f"{len(rows) - len(exceptions)} of {len(rows)}" + (f"; not {', '.join(exceptions)}" if exceptions else ""), "all", not exceptions)
    return (f"Routes: {rounds} requests of each in each database, by one client, one after the other, each as another person; medians, and "
            "the ratio of the fastest quarters, because other programs on the machine only add time; the rows that MariaDB reads")


def fill(site, database, size):
    site.make_database(database)
    site.seed("devices.sql", size, database)
    site.seed("filled.sql", size, database, SPKI=proofs.SPKI, COSE=proofs.COSE.hex())
    site.settle(database)
    # /health looks for the pass of a companion.
    site.sql("INSERT INTO companion_status (host, version, last_pass_at) VALUES ('host', '1', UTC_TIMESTAMP(3) + INTERVAL 1 DAY)", database)


def environment(site, database):
    return site.environment(database) | {
        "SWITCHBOARD_APPLE_TEAM_ID": "TEAM123456", "SWITCHBOARD_APPLE_BUNDLE_IDS": "org.example.app",
        "SWITCHBOARD_ANDROID_APPS": "org.example.app=" + ":".join(["AB"] * 32),
        "WEBPUSH_VAPID_PUBLIC_KEY": proofs.base64url(b"\x04" + proofs.X + proofs.Y)}


def described_operations(caller):
    paths = caller.json("GET", "/openapi.json")["paths"]
    return [(method.upper(), path, operation["operationId"], operation.get("security", []))
            for path, methods in paths.items() for method, operation in methods.items()]


def call(person, method, path, name, security):
    """The seconds of one request, and the rows that MariaDB reads for it."""
    person.caller.lift_limits()
    person.prove()
    parts = RECIPES[name](person) if name in RECIPES else {}
    for item, value in parts.get("items", {}).items():
        path = path.replace(f"{{{item}}}", urllib.parse.quote(str(value)))
    if method == "GET" and "query" in parts:
        path += "?" + urllib.parse.urlencode(parts["query"])
    fields = person.fields(security) | parts.get("fields", {})
    content = {} if method in ("GET", "OPTIONS") else {key: parts[key] for key in ("body", "form") if key in parts}
    before = person.caller.rows_read()
    status, _, text, seconds = person.caller.send(method, path, fields=fields, **content)
    read = person.caller.rows_read() - before - person.caller.rows_of_status
    if status >= 400:
        raise SystemExit(f"error: {method} {path} ({name}) is answered {status} {text[:500]}")
    return seconds, read
