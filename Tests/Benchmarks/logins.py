"""POST /api/mobile/auth/login: checks that its time does not reveal whether an e-mail address has an account."""

import http.client
import json
import math
import random
import statistics
import time

PATH = "/api/mobile/auth/login"
FIRST = 1000  # so that all addresses have the same length
PER_ADDRESS = 10  # requests per network address, below the limit
HEAD = {"Content-Type": "application/json"}


def measure(stage, programs, rounds, seconds, budgets):
    site = stage.site
    site.seed("devices.sql", FIRST + rounds)
    asked = [(name, number) for name in ("user", "none") for number in range(FIRST, FIRST + rounds)]
    random.Random(1).shuffle(asked)
    times, shapes = {"user": [], "none": []}, set()
    ask(site, "warm", 0, 0)
    for index, (name, number) in enumerate(asked):
        status, shape, took = ask(site, name, number, index)
        times[name].append(took)
        shapes.add((status, shape))
    known, unknown = times["user"], times["none"]
    sent = site.sql("SELECT SUM(state <> 'suppressed'), SUM(state = 'suppressed') FROM outbox").split()
    assert int(sent[0]) >= rounds and int(sent[1]) >= rounds, sent
    budgets.row("login, status and members of the answer, known and unknown", f"{len(shapes)} kind", "1 kind", len(shapes) == 1)
    ratio = statistics.median(known) / statistics.median(unknown)
    budgets.row("login, median time of known against unknown e-mail", f"{ratio:.3f}", "0.95 to 1.05", 0.95 <= ratio <= 1.05)
    p = mann_whitney(known, unknown)
    budgets.row("the same, probability that both are one distribution (Mann-Whitney)", f"{p:.3f}", "more than 0.01", p > 0.01)
    return (f"{rounds} logins each in one random order; medians {1000 * statistics.median(known):.2f} ms known, "
            f"{1000 * statistics.median(unknown):.2f} ms unknown")


def ask(site, name, number, index):
    """Status, names of the members and their sizes, and seconds until the answer."""
    # All of 127/8 is this machine: every ten logins use another address.
    source = 256 + index // PER_ADDRESS
    connection = http.client.HTTPConnection(
        "127.0.0.1", site.port, timeout=10, source_address=(f"127.0.{source // 256}.{source % 256}", 0))
    connection.connect()
    body = json.dumps({"email": f"{name}{number}@example.org", "deviceId": f"phone-{index:06}", "deviceName": "Phone", "platform": "ios"})
    begin = time.perf_counter()
    connection.request("POST", PATH, body, HEAD)
    response = connection.getresponse()
    text = response.read()
    took = time.perf_counter() - begin
    connection.close()
    answer = json.loads(text)
    shape = tuple((member, value if member != "challenge" else len(value)) for member, value in answer.items())
    assert response.status == 200, text
    return response.status, shape, took


def mann_whitney(a, b):
    """The two-sided p of the rank sum, by its normal approximation, ties corrected."""
    ranked = sorted([(value, 0) for value in a] + [(value, 1) for value in b])
    ranks, ties, start = 0.0, 0, 0
    while start < len(ranked):
        end = start
        while end < len(ranked) and ranked[end][0] == ranked[start][0]:
            end += 1
        count = end - start
        ranks += (start + end + 1) / 2 * sum(1 for _, group in ranked[start:end] if group == 0)
        ties += count**3 - count
        start = end
    n, m, total = len(a), len(b), len(ranked)
    u = ranks - n * (n + 1) / 2
    deviation = math.sqrt(n * m / 12 * (total + 1 - ties / (total * (total - 1))))
    return math.erfc(abs(u - n * m / 2) / deviation / math.sqrt(2))
