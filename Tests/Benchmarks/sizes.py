"""Tables with few and with many devices, and the same number of active devices: the latencies must be equal."""

from load import CONNECTIONS, load_with
from polls import Poller
from preferences import BODY, PATH
from tables import median, print_table, ratios
from tokens import write_callers

# The small number is that of the active devices.
FEW, MANY = 1000, 1_000_000
REQUESTS = (
    ("GET", PATH, None),
    ("POST", PATH, BODY),
    ("POST", "/api/push/register", '{"token":"PUSH_TOKEN","platform":"ios"}'),
)
POLLED = 200


def measure(stage, programs, rounds, seconds, budgets):
    site, poller = stage.site, Poller(stage, programs)
    site.enlarge_database(4)
    contenders = {}
    for size in (FEW, MANY):
        database = f"devices_{size}"
        site.make_database(database)
        site.seed("devices.sql", size, database)
        site.seed("polls.sql", size, database)
        site.settle(database)
        callers = write_callers(stage.directory / f"callers-{size}", site, range(1, size + 1, size // FEW))
        contenders[size] = (
            stage.fastcgi(str(size), programs / "switchboard-responder", site.environment(database)), callers, database)
    for size in contenders:
        site.read_all(f"devices_{size}")
    names = [f"{method} {path}" for method, path, _ in REQUESTS] + ["turns poll"]
    milliseconds = {(name, size): [] for name in names for size in contenders}
    for number in range(rounds + 1):
        for size in sorted(contenders, reverse=number % 2):
            found = list(one_round(site, poller, *contenders[size], size, seconds if number else 1))
            if number:
                for name, value in zip(names, found, strict=True):
                    milliseconds[name, size].append(value)

    print_table((" request", f"p50 ms, {FEW:,} devices", f"p50 ms, {MANY:,} devices"), *(
        (name, *(median(milliseconds[name, size]) for size in contenders)) for name in names))
    for name in names:
        budgets.at_most(f"{name}: {MANY:,} devices / {FEW:,}", ratios(milliseconds[name, MANY], milliseconds[name, FEW]), 1.3)
    return (f"Sizes: {CONNECTIONS} connections of wrk for {FEW:,} active devices; turns poll is the whole time for each of "
            f"{POLLED} users that are due")


def one_round(site, poller, contender, callers, database, size, seconds):
    """The median milliseconds of each request, and then of a poll."""
    for method, path, body in REQUESTS:
        site.sql("TRUNCATE rate_limits; TRUNCATE audit_log", database)
        yield load_with(contender, method, path, callers, seconds, body)["p50"] / 1000
    yield poller.poll(database, range(1, size + 1, size // POLLED)).seconds / POLLED * 1000
