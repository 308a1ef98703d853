"""Measures the responder beside C and PHP, round after round, and prints the table. Called by Tests/bench."""

import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import start
from contenders import HERE, ROOT, Site, Stage
from tokens import access_token, write_tokens

PATH = "/api/v1/device-prefs"
BODY = json.dumps({
    "push_enabled": True,
    "push_token": "apns_dev_ABC123",
    "preferred_models": ["gpt-4o-mini", "claude-3.5-sonnet"],
    "archive_cache_quota_mb": 512,
})
CONNECTIONS = 16
# Each may be written to 30 times an hour; a measurement of POST begins with nothing counted.
DEVICES = 20_000
ACTIVE = 1000


def main():
    state = pathlib.Path(sys.argv[1])
    program, rounds, seconds, devices = sys.argv[2], *map(int, sys.argv[3:])
    begin, load = time.monotonic(), os.getloadavg()[0]
    site = Site(state)
    with Stage(state, site) as stage:
        seed(site, "switchboard", DEVICES)
        tokens = write_tokens(state / "tokens", site, range(1, DEVICES + 1))
        swift = stage.fastcgi("Swift", program, site.environment())
        resident = [swift.resident()]
        c = stage.fastcgi("C", state / "floor", site.environment())
        php = stage.php()
        check_answers(site, [swift, c, php])
        runs = compare(site, [swift, c, php], tokens, rounds, seconds)
        served = sum(run["requests"] for run in runs if run["name"] == "Swift")
        for target in (200_000, 300_000):
            while served < target:
                served += load_with(swift, "GET", tokens, seconds)["requests"]
            resident.append(swift.resident())
        sizes = compare_sizes(stage, state, program, devices, rounds)
        token = access_token(site, 1)
        starts = {name: (start.first_answer(path, site, token, state / "start.sock"))
                  for name, path in (("Swift", program), ("C", state / "floor"))}
        cgi = start.plain_cgi(program, site, token)
    print_figures(runs)
    print_budgets(runs, resident, starts, cgi, sizes, devices)
    print(f"\n{rounds} rounds of {seconds} s each, in turn; {CONNECTIONS} connections of wrk; {os.cpu_count()} processors, shared "
          f"with nginx, MariaDB and wrk; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after; "
          f"{time.monotonic() - begin:.0f} s. Handler CPU is user and system time of the program alone. "
          "PHP-FPM: 32 children, connections kept as for the others.")


def seed(site, database, devices):
    if database != "switchboard":
        site.sql(f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", "")
        site.sql((ROOT / "schema.sql").read_text(), database)
    site.sql((HERE / "seed.sql").read_text().replace("DEVICES", str(devices)), database)
    site.sql("ANALYZE TABLE accounts, devices, sessions, device_preferences, push_tokens", database)


# Whether all do the same ----------------------------------------------------------------------------------------------


def ask(contender, method, token):
    connection = http.client.HTTPConnection("127.0.0.1", contender.port, timeout=10)
    body = BODY if method == "POST" else None
    connection.request(method, PATH, body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read().decode()


def check_answers(site, contenders):
    """Refuses to measure programs that do less than the responder."""
    token = access_token(site, 1)
    forged = token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:]
    now = int(time.time())
    refused = [forged] + [access_token(site, 1, **change) for change in (
        {"exp": now}, {"iat": now + 120}, {"aud": "other"}, {"iss": "http://other"}, {"type": "refresh"},
        {"sid": "01900000-0000-7002-8000-ffffffffffff"})]
    answers = {ask(contender, "GET", token) for contender in contenders}
    if len(answers) != 1 or answers.pop()[0] != 200:
        raise SystemExit(f"error: the answers to GET differ: {[ask(contender, 'GET', token) for contender in contenders]}")
    for number, contender in enumerate(contenders):
        status, body = ask(contender, "POST", token)
        expected = json.loads(ask(contenders[0], "GET", token)[1])
        if status != 200 or json.loads(body) != expected or expected["version"] != number + 2:
            raise SystemExit(f"error: {contender.name} answers POST with {status} {body}, then GET shows {expected}")
        for bad in refused:
            if ask(contender, "GET", bad)[0] != 401:
                raise SystemExit(f"error: {contender.name} lets in {bad}")
    written = site.sql("SELECT COUNT(*), COUNT(DISTINCT CONCAT_WS('|', event, account_id, device_id, address, platform, "
                       "attestation)) FROM audit_log").split()
    if written != [str(len(contenders)), "1"]:
        raise SystemExit(f"error: the audit log holds {written}")
    hits = site.sql("SELECT hits FROM rate_limits WHERE name = 'device-prefs'").split()
    if hits != [str(len(contenders))]:
        raise SystemExit(f"error: {hits} writes were counted")


# Load -----------------------------------------------------------------------------------------------------------------


def load_with(contender, method, tokens, seconds):
    """Figures of one run of wrk."""
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "10s", "-s", HERE / "drive.lua", contender.url,
               "--", method, tokens] + ([BODY] if method == "POST" else [])
    before = contender.cpu()
    output = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True).stdout
    cpu = contender.cpu() - before
    run = json.loads(output.splitlines()[-1])
    if run["refused"] or run["broken"] or not run["requests"]:
        raise SystemExit(f"error: {contender.name} did not answer every {method} with 200: {run}")
    rate = run["requests"] / run["microseconds"] * 1e6
    return run | {"name": contender.name, "method": method, "rate": rate, "cpu": cpu / run["requests"] * 1e6}


def compare(site, contenders, tokens, rounds, seconds):
    for contender in contenders:
        for method in ("GET", "POST"):
            load_with(contender, method, tokens, 1)  # warms up
    runs = []
    for number in range(rounds):
        turn = number % len(contenders)
        for method in ("GET", "POST"):
            for contender in contenders[turn:] + contenders[:turn]:
                site.sql("TRUNCATE rate_limits; TRUNCATE audit_log")
                runs.append(load_with(contender, method, tokens, seconds) | {"round": number})
    return runs


def compare_sizes(stage, state, program, devices, rounds):
    """GET with few and with many devices in the tables, of which the same number is active."""
    contenders = []
    for size in (ACTIVE, devices):
        database = f"devices_{size}"
        seed(stage.site, database, size)
        tokens = write_tokens(state / f"tokens-{size}", stage.site, range(1, size + 1, size // ACTIVE))
        contender = stage.fastcgi(str(size), program, stage.site.environment(database))
        contenders.append((contender, tokens))
        load_with(contender, "GET", tokens, 1)
    runs = [[load_with(contender, "GET", tokens, 2) for contender, tokens in contenders] for _ in range(rounds)]
    return {
        "p50": [statistics.median(run[index]["p50"] for run in runs) for index in (0, 1)],
        "ratio": statistics.median(large["p50"] / small["p50"] for small, large in runs),
        "p99": statistics.median(large["p99"] / small["p99"] for small, large in runs),
    }


# The tables -----------------------------------------------------------------------------------------------------------


def figures(runs, name, method, figure):
    return [run[figure] for run in runs if run["name"] == name and run["method"] == method]


def ratio(runs, method, figure, numerator, denominator):
    """The median of the rounds' own ratios, with the least and the greatest."""
    pairs = zip(figures(runs, numerator, method, figure), figures(runs, denominator, method, figure))
    ratios = sorted(a / b for a, b in pairs)
    return statistics.median(ratios), ratios[0], ratios[-1]


def print_figures(runs):
    print("\n| request | program | requests/s | handler CPU µs/request | p50 ms | p99 ms |\n|---|---|---:|---:|---:|---:|")
    for method in ("GET", "POST"):
        for name in ("Swift", "C", "PHP"):
            rate, cpu, p50, p99 = (
                statistics.median(figures(runs, name, method, figure)) for figure in ("rate", "cpu", "p50", "p99"))
            print(f"| {method} | {name} | {rate:,.0f} | {cpu:.1f} | {p50 / 1000:.2f} | {p99 / 1000:.1f} |")


def print_budgets(runs, resident, starts, cgi, sizes, devices):
    print("\n| what | measured | budget | |\n|---|---|---|---|")

    def row(what, measured, budget, is_met):
        print(f"| {what} | {measured} | {budget} | {'met' if is_met else 'NOT MET'} |")

    def compared(what, budget, method, figure, other):
        pair = ("Swift", other) if figure == "rate" else (other, "Swift")  # requests per CPU second: the inverse
        median, least, most = ratio(runs, method, figure, *pair)
        row(what, f"{median:.2f} ({least:.2f}–{most:.2f})", f"at least {budget}", median >= budget)

    for method, budget in (("GET", 0.9), ("POST", 0.85)):
        compared(f"{method}, requests per second: Swift / C", budget, method, "rate", "C")
        compared(f"{method}, requests per CPU second: Swift / C", budget, method, "cpu", "C")
    compared("GET, requests per CPU second: Swift / PHP-FPM", 3, "GET", "cpu", "PHP")
    at_start, after, later = resident
    row("memory after 200,000 requests", f"{after:.1f} MB (at start {at_start:.1f})", "at most 16 MB", after <= 16)
    row("memory after 100,000 more", f"{later - after:+.1f} MB", "flat: at most +0.5 MB", later - after <= 0.5)
    row("first answer after exec", f"{starts['Swift']:.1f} ms (C: {starts['C']:.1f})", "at most 15 ms", starts["Swift"] <= 15)
    row("one plain-CGI request", f"{cgi:.1f} ms", "at most 10 ms", cgi <= 10)
    small, large = (p50 / 1000 for p50 in sizes["p50"])
    row(f"GET, {devices:,} devices / {ACTIVE:,}: p50",
        f"{sizes['ratio']:.2f} ({large:.2f} ms / {small:.2f} ms; p99 {sizes['p99']:.2f})", "at most 1.3", sizes["ratio"] <= 1.3)


if __name__ == "__main__":
    main()
