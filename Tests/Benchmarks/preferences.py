"""GET and POST /api/v1/device-prefs: the responder, C and PHP, in turn, and GET of Go and Python; the responder's memory and
start."""

import http.client
import json
import time

import start
from load import CONNECTIONS, load_with
from tables import median, print_table, ratios
from tokens import access_token, write_callers

PATH = "/api/v1/device-prefs"
BODY = json.dumps({
    "push_enabled": True,
    "push_token": "apns_dev_ABC123",
    "preferred_models": ["gpt-4o-mini", "claude-3.5-sonnet"],
    "archive_cache_quota_mb": 512,
})
# Method and connections of each measurement.
LOADS = (("GET", 1), ("GET", CONNECTIONS), ("GET", 64), ("POST", CONNECTIONS))
# Each device may be written 30 times an hour; every measurement of POST begins with counts of zero.
DEVICES = 20_000


def measure(stage, programs, rounds, seconds, budgets):
    site, state, program = stage.site, stage.directory, programs / "switchboard-responder"
    site.seed("devices.sql", DEVICES)
    callers = write_callers(state / "callers", site, range(1, DEVICES + 1))
    swift = stage.fastcgi("Swift", program, site.environment())
    resident = [swift.resident()]
    c = stage.fastcgi("C", stage.floor, site.environment())
    writers = [swift, c, stage.php()]
    readers = writers + [stage.go(), stage.python()]
    check_answers(site, readers, writers)
    runs = compare(site, {"GET": readers, "POST": writers}, callers, rounds, seconds)
    served = sum(run["requests"] for run in runs if run["name"] == "Swift")
    for target in (200_000, 300_000):
        while served < target:
            served += load_with(swift, "GET", PATH, callers, seconds)["requests"]
        resident.append(swift.resident())
    token = access_token(site, 1)
    starts = {name: start.first_answer(path, site, token, state / "start.sock")
              for name, path in (("Swift", program), ("C", stage.floor))}
    cgi = start.plain_cgi(program, site, token)
    print_figures(runs)
    add_budgets(budgets, runs, resident, starts, cgi)
    return (f"{rounds} rounds of {seconds} s each, in turn; handler CPU is user and system time of "
            "the program alone; PHP-FPM: 32 children, connections kept as for the others")


# Comparison of the programs' answers ----------------------------------------------------------------------------------


def ask(contender, method, token):
    connection = http.client.HTTPConnection("127.0.0.1", contender.port, timeout=10)
    body = BODY if method == "POST" else None
    connection.request(method, PATH, body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read().decode()


def check_answers(site, readers, writers):
    """Stops the measurement of programs that do less than the responder."""
    token = access_token(site, 1)
    forged = token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:]
    now = int(time.time())
    refused = [forged] + [access_token(site, 1, **change) for change in (
        {"exp": now}, {"iat": now + 120}, {"aud": "other"}, {"iss": "http://other"}, {"type": "refresh"},
        {"sid": "01900000-0000-7002-8000-ffffffffffff"})]
    answers = {ask(contender, "GET", token) for contender in readers}
    if len(answers) != 1 or answers.pop()[0] != 200:
        raise SystemExit(f"error: the answers to GET differ: {[ask(contender, 'GET', token) for contender in readers]}")
    for number, contender in enumerate(writers):
        status, body = ask(contender, "POST", token)
        expected = json.loads(ask(readers[0], "GET", token)[1])
        if status != 200 or json.loads(body) != expected or expected["version"] != number + 2:
            raise SystemExit(f"error: {contender.name} answers POST with {status} {body}, then GET shows {expected}")
    for contender in readers:
        for bad in refused:
            if ask(contender, "GET", bad)[0] != 401:
                raise SystemExit(f"error: {contender.name} lets in {bad}")
    written = site.sql("SELECT COUNT(*), COUNT(DISTINCT CONCAT_WS('|', event, account_id, device_id, address, platform, "
                       "attestation)) FROM audit_log").split()
    if written != [str(len(writers)), "1"]:
        raise SystemExit(f"error: the audit log holds {written}")
    hits = site.sql("SELECT hits FROM rate_limits WHERE name = 'device-prefs'").split()
    if hits != [str(len(writers))]:
        raise SystemExit(f"error: {hits} writes were counted")


# Load -----------------------------------------------------------------------------------------------------------------


def load(contender, method, connections, callers, seconds):
    body = BODY if method == "POST" else None
    return load_with(contender, method, PATH, callers, seconds, body, connections)


def compare(site, contenders, callers, rounds, seconds):
    for method, connections in LOADS:
        for contender in contenders[method]:
            load(contender, method, connections, callers, 1)  # warms up
    runs = []
    for number in range(rounds):
        for method, connections in LOADS:
            turn = number % len(contenders[method])
            for contender in contenders[method][turn:] + contenders[method][:turn]:
                site.sql("TRUNCATE rate_limits; TRUNCATE audit_log")
                runs.append(load(contender, method, connections, callers, seconds))
    return runs


# The tables -----------------------------------------------------------------------------------------------------------


def figures(runs, name, load, figure):
    return [run[figure] for run in runs if run["name"] == name and (run["method"], run["connections"]) == load]


def print_figures(runs):
    rows = []
    for load in LOADS:
        for name in ("Swift", "C", "PHP", "Go", "Python"):
            if not figures(runs, name, load, "rate"):
                continue
            rate, cpu, database, p50, p99 = (figures(runs, name, load, figure)
                                             for figure in ("rate", "cpu", "database", "p50", "p99"))
            rows.append((load[0], load[1], name, median(rate, "{:,.0f}"), median(cpu, "{:.1f}"), median(database, "{:.1f}"),
                         median([v / 1000 for v in p50]), median([v / 1000 for v in p99], "{:.1f}")))
    print_table((" request", "connections", " program", "requests/s", "handler CPU µs/request", "MariaDB CPU µs/request",
                 "p50 ms", "p99 ms"), *rows)


def add_budgets(budgets, runs, resident, starts, cgi):
    for load, least in ((("GET", CONNECTIONS), 0.9), (("GET", 64), 1.3), (("POST", CONNECTIONS), 0.95)):
        of = f"{load[0]} of {load[1]} clients"
        rate, cpu, database = ([figures(runs, name, load, figure) for name in ("Swift", "C")]
                               for figure in ("rate", "cpu", "database"))
        budgets.at_least(f"{of}, requests per second: Swift / C", ratios(*rate), least)
        budgets.at_least(f"{of}, requests per CPU second of the handler: Swift / C", ratios(*reversed(cpu)), 0.9)
        if load == ("GET", 64):
            both = [[sum(pair) for pair in zip(*used)] for used in zip(cpu, database)]
            budgets.at_least(f"{of}, requests per CPU second of handler and MariaDB: Swift / C", ratios(*reversed(both)), 2)
    lone = [figures(runs, name, ("GET", 1), "p50") for name in ("Swift", "C")]
    budgets.row("GET of a lone client, p50: Swift / C", median(ratios(*lone)), "none", None)
    for other, least in (("PHP", 4), ("Go", 3), ("Python", 8)):
        cpu = [figures(runs, name, ("GET", CONNECTIONS), "cpu") for name in (other, "Swift")]
        budgets.at_least(f"GET, requests per CPU second of the handler: Swift / {other}", ratios(*cpu), least)
    at_start, after, later = resident
    budgets.at_most("memory after 200,000 requests", [after], 14, "{:.1f} MB", f" (at start {at_start:.1f})")
    budgets.row("memory after 100,000 more", f"{later - after:+.1f} MB", "flat: at most +0.5 MB", later - after <= 0.5)
    budgets.at_most("first answer after exec", [starts["Swift"]], 15, "{:.1f} ms", f" (C: {starts['C']:.1f})")
    budgets.at_most("one plain-CGI request", [cgi], 8, "{:.1f} ms")
