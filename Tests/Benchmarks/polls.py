"""A pass over online-go.com's users: its cost, and whether twice as many users cost twice as much."""

import sys

from contenders import HERE
from tables import median, print_table, ratios

FEW, MANY = 1000, 2000


class Poller:
    """The companion's pass with a fake of online-go.com."""

    def __init__(self, stage, programs):
        self.stage, self.program = stage, programs / "switchboard-companion"
        port = stage.directory / "port"
        stage.await_file(port, stage.start("ogs", [sys.executable, "-B", HERE / "fake_ogs.py", port], None))
        self.url = f"http://127.0.0.1:{port.read_text()}"

    def poll(self, database, users, url=None):
        """Polls the users with these numbers, at another address of online-go.com if one is given."""
        site = self.stage.site
        condition = f"id IN ({', '.join(str(1_000_000 + number) for number in users)})"
        site.sql(f"UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3), checked_at = NULL WHERE {condition}", database)
        environment = site.environment(database, "companion") | {
            "SWITCHBOARD_SUBSTITUTES": f"ogs={url or self.url}", "OGS_REQUESTS_PER_SECOND": "1000",
            "SWITCHBOARD_ADMINISTRATOR": "bench@example.org", "CHECK_INTERVAL_SECONDS": "300"}  # the longest time that a pass polls
        before = site.database_cpu()
        run = self.stage.run("companion", [self.program, "run"], environment)
        run.database = site.database_cpu() - before
        polled = site.sql(f"SELECT COUNT(checked_at), MIN(active_games) FROM ogs_users WHERE {condition}", database).split()
        if polled != [str(len(users)), "10"]:
            raise SystemExit(f"error: {polled[0]} of {len(users)} users were polled: {run.output[-2000:]}")
        return run


def measure(stage, programs, rounds, _seconds, budgets):
    site, poller = stage.site, Poller(stage, programs)

    def poll_all(users):
        return poller.poll("polls", range(1, users + 1))

    def poll_new(users):
        site.make_database("polls")
        site.seed("polls.sql", users, "polls")
        run = poll_all(users)
        told = site.sql("SELECT COUNT(*) FROM deliveries", "polls").strip()
        if told != str(users):
            raise SystemExit(f"error: {told} notifications for {users} users")
        return run

    poll_new(MANY)  # lets the fake prepare its answers
    runs = {(MANY, "new"): [], (FEW, "new"): [], (FEW, "unchanged"): []}
    for _ in range(rounds):
        runs[MANY, "new"].append(poll_new(MANY))
        runs[FEW, "new"].append(poll_new(FEW))
        runs[FEW, "unchanged"].append(poll_all(FEW))
    site.sql("DROP DATABASE polls")

    print_table((" users", " ten games each", "CPU s: companion", "CPU s: mariadbd", "s"), *(
        (f"{users:,}", seen, *(median([getattr(run, figure) for run in some]) for figure in ("cpu", "database", "seconds")))
        for (users, seen), some in runs.items()))
    cpu = {key: [run.cpu for run in some] for key, some in runs.items()}
    for seen in ("new", "unchanged"):
        budgets.at_most(f"{FEW:,} users polled, all games {seen}: CPU seconds", cpu[FEW, seen], 3)
    budgets.at_most(f"CPU seconds: {MANY:,} users / {FEW:,}", ratios(cpu[MANY, "new"], cpu[FEW, "new"]), 2.2)
    return "Polls: answers of 46 kB, packed to 14 kB; the CPU seconds are the companion's, exec to end"
