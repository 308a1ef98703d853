"""Claiming, sending and recording the deliveries in MariaDB by the companion's own pass; and its memory."""

from apns import Gateway
from tables import median, print_table

WAITING = 100_000
FEW, MANY = 10_000, 1_000_000
# The time limit for sending from the large table, in seconds: long enough to see whether the memory keeps growing.
TIME_LIMIT = 20


def measure(stage, programs, rounds, _seconds, budgets):
    site, near, far = stage.site, Gateway(stage, programs), Gateway(stage, programs, is_far=True)
    durability = site.sql("SELECT @@innodb_flush_log_at_trx_commit").strip()

    def deliver(waiting, at_most=None, gateway=near):
        site.make_database("deliveries")
        site.seed("deliveries.sql", waiting, "deliveries")
        before = site.database_cpu(), gateway.cpu()
        environment = site.environment("deliveries", "companion") | gateway.settings()
        run = stage.run("companion", [programs / "switchboard-companion", "run"], environment, at_most)
        after = site.database_cpu(), gateway.cpu()
        sent = int(site.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'", "deliveries"))
        if sent != waiting and not at_most or not sent:
            raise SystemExit(f"error: {sent} of {waiting} were delivered: {run.output[-2000:]}")
        return {"sent": sent, "rate": sent / run.seconds, "resident": run.resident, "companion": run.cpu / sent * 1e6,
                "mariadbd": (after[0] - before[0]) / sent * 1e6, "fake": (after[1] - before[1]) / sent * 1e6}

    runs = [deliver(WAITING) for _ in range(rounds)]
    few, many, over_four = deliver(FEW), deliver(MANY, TIME_LIMIT), deliver(MANY, TIME_LIMIT, far)
    site.sql("DROP DATABASE deliveries")

    names = ("companion", "mariadbd", "fake")
    print_table((" waiting", "notifications/s", *(f"CPU µs each: {name}" for name in names), "all", "companion MB"), *(
        (waiting, median([run["rate"] for run in some], "{:,.0f}"),
         *(median([run[name] for run in some], "{:.1f}") for name in names),
         median([sum(run[name] for name in names) for run in some], "{:.1f}"),
         median([run["resident"] for run in some], "{:.1f}"))
        for waiting, some in ((f"{FEW:,}", [few]), (f"{WAITING:,}", runs), (f"{MANY:,}", [many]),
                              (f"{MANY:,}, answers after 100 ms", [over_four]))))
    budgets.at_least("claimed, sent, recorded: notifications per second", [run["rate"] for run in runs], 20_000, "{:,.0f}")
    for waiting, run in ((FEW, few), (MANY, many)):
        budgets.at_most(f"companion's memory, {waiting:,} waiting", [run["resident"]], 24, "{:.1f} MB", f" after {run['sent']:,}")
    budgets.row("the same, answers after 100 ms, over four connections", f"{over_four['resident']:.1f} MB", "none", None)
    return f"Deliveries: innodb_flush_log_at_trx_commit = {durability}; a pass from exec to end, sending over one connection, or over four if answers take long"
