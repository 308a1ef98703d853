"""The purge of many old rows: its speed, its CPU time, and its effect on requests."""

import http.client
import itertools
import signal
import statistics
import time

from preferences import BODY, PATH
from tables import median, ratios
from tokens import access_token

# The devices that send requests meanwhile. Each may write 30 times an hour.
DEVICES = 20_000
TABLES = ("audit_log", "notifications", "deliveries", "outbox", "rate_limits")
HOUR = 3600
# The pause between two requests, in seconds, which leaves the processor to the purge.
PAUSE = 0.01
# The companion runs for this many times the time of each stop.
WORKING_TIMES = 4


def measure(stage, programs, rows, seconds, budgets):
    site = stage.site
    site.make_database("old_rows")
    site.seed("devices.sql", DEVICES, "old_rows")
    site.seed("old_rows.sql", rows, "old_rows")
    responder = stage.fastcgi("responder", programs / "switchboard-responder", site.environment("old_rows"))
    client = Client(site, responder)
    old = sum(int(site.sql(f"SELECT COUNT(*) FROM {table}", "old_rows")) for table in TABLES)
    begin, before, deleted, paused = time.monotonic(), deleted_so_far(site), 0, 0
    companion = stage.start("companion", [programs / "switchboard-companion", "watch"],
                            site.environment("old_rows", "companion") | {"SWITCHBOARD_MAIL_DIRECTORY": str(stage.directory)})
    spans = {signal.SIGSTOP: seconds, signal.SIGCONT: seconds * WORKING_TIMES}
    latencies, shares = {order: [] for order in spans}, []
    while deleted < old and time.monotonic() - begin - paused < HOUR:
        cpus = {}
        for order, span in spans.items():  # in turn, so that a disturbance affects both
            companion.send_signal(order)
            cpu = site.database_cpu()
            latencies[order].append(client.latency(span))
            cpus[order] = (site.database_cpu() - cpu) / span
        paused += seconds
        deleted = deleted_so_far(site) - before
        shares.append(cpus[signal.SIGCONT] - cpus[signal.SIGSTOP])
    working = time.monotonic() - begin - paused
    hours = old / (deleted / working) / HOUR
    site.sql("DROP DATABASE old_rows")
    budgets.at_most(f"purge of {old:,} old rows: hours", [hours], 1, note=f" ({deleted / working:,.0f} rows a second)")
    budgets.at_most("the purge's share of a processor, MariaDB's", shares, 0.25)
    budgets.at_most("median latency beside the purge / without", ratios(latencies[signal.SIGCONT], latencies[signal.SIGSTOP]), 1.3)
    return (f"Purge: {deleted:,} rows deleted in {working:.0f} s; a client asks GET and POST {PATH} in turn; latencies without the purge "
            f"{median(latencies[signal.SIGSTOP], '{:.2f}')} ms")


def deleted_so_far(site):
    return int(site.sql("SHOW GLOBAL STATUS LIKE 'Handler_delete'").split()[1])


class Client:
    """Sends requests on one connection, as another device each time."""

    def __init__(self, site, responder):
        self.tokens = itertools.cycle([access_token(site, number) for number in range(1, DEVICES + 1)])
        self.connection = http.client.HTTPConnection("127.0.0.1", responder.port, timeout=10)

    def latency(self, seconds):
        """The median milliseconds of the requests during `seconds`."""
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            method, token = ("GET", "POST")[len(times) % 2], next(self.tokens)
            begin = time.monotonic()
            self.connection.request(method, PATH, BODY if method == "POST" else None,
                                    {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            response = self.connection.getresponse()
            response.read()
            times.append((time.monotonic() - begin) * 1000)
            if response.status != 200:
                raise SystemExit(f"error: {method} is answered {response.status} beside the purge")
            time.sleep(PAUSE)
        return statistics.median(times)
