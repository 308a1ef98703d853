"""A pass over online-go.com's users: what it costs, and that it costs twice as much for twice as many."""

import sys

from contenders import HERE
from tables import median, print_table, ratios

USERS = (1000, 2000)


class Poller:
    """The companion's pass against a fake of online-go.com."""

    def __init__(self, stage, programs):
        self.stage, self.program = stage, programs / "switchboard-companion"
        port = stage.directory / "port"
        stage.await_file(port, stage.start("ogs", [sys.executable, "-B", HERE / "fake_ogs.py", port], None))
        self.url = f"http://127.0.0.1:{port.read_text()}"

    def poll(self, database, users):
        """Has these users polled, the whole table or some by their numbers."""
        site = self.stage.site
        condition = f"id IN ({', '.join(str(1_000_000 + number) for number in users)})"
        site.sql(f"UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3), checked_at = NULL WHERE {condition}", database)
        environment = site.environment(database, "companion") | {
            "OGS_BASE_URL": self.url, "OGS_REQUESTS_PER_SECOND": "1000", "SWITCHBOARD_CONTACT": "bench@example.org"}
        before = site.database_cpu()
        run = self.stage.run("companion", [self.program, "run"], environment)
        run.database = site.database_cpu() - before
        polled = site.sql(f"SELECT COUNT(checked_at), MIN(active_games) FROM ogs_users WHERE {condition}", database).split()
        if polled != [str(len(users)), "10"]:
            raise SystemExit(f"error: {polled[0]} of {len(users)} users were polled: {run.output[-2000:]}")
        return run


def measure(stage, programs, rounds, _seconds, budgets):
    site, poller = stage.site, Poller(stage, programs)
    runs = {(users, seen): [] for users in USERS for seen in ("new", "unchanged")}
    for number in range(rounds + 1):
        for users in USERS[::(-1) ** number]:
            site.make_database("polls")
            site.seed("polls.sql", users, "polls")
            for seen in ("new", "unchanged"):
                run = poller.poll("polls", range(1, users + 1))
                if number:  # the fake has made its answers then
                    runs[users, seen].append(run)
            told = site.sql("SELECT COUNT(*) FROM deliveries", "polls").strip()
            if told != str(users):
                raise SystemExit(f"error: {told} notifications for {users} users")
    site.sql("DROP DATABASE polls")

    print_table((" users", " ten games each", "CPU s: companion", "CPU s: mariadbd", "s"), *(
        (f"{users:,}", seen, *(median([getattr(run, figure) for run in some]) for figure in ("cpu", "database", "seconds")))
        for (users, seen), some in runs.items()))
    cpu = {key: [run.cpu for run in some] for key, some in runs.items()}
    for seen in ("new", "unchanged"):
        budgets.at_most(f"1,000 users polled, all games {seen}: CPU seconds", cpu[1000, seen], 3)
    budgets.at_most("CPU seconds: 2,000 users / 1,000", ratios(cpu[2000, "new"], cpu[1000, "new"]), 2.2)
    return "Polls: answers of 43 kB, packed to 14 kB; the CPU seconds are the companion's, exec to end"
