#!/usr/bin/python3
"""Predicts how far a site carries, from the file of `Tests/Benchmarks/run capacity --json FILE`: forecast.py FILE.

Each cost grows like a + b log10(devices), because indexes are trees. The first table shows the error of a prediction for the
most devices from the two smaller databases. Then a day is simulated, minute by minute, with random peaks: work that a
program cannot do in a minute waits for the next.
"""

import argparse
import json
import math
import random

PARTS = ("responder", "companion", "MariaDB")
PREDICTED = (1_000_000, 10_000_000, 100_000_000)
# What one device does on one day. Options change these.
DAY = {"read": 20, "write": 2, "sign in": 0.05, "notification": 5, "poll with news": 3, "poll without news": 45}
MINUTES = 24 * 60
NOTICEABLE = 60  # seconds that work waits


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=argparse.FileType())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=float, default=16, help="of the database server, and of each server of a program (16)")
    parser.add_argument("--disk", type=float, default=4, help="TB of the database server (4)")
    parser.add_argument("--log-days", type=float, default=7, help="that the binary log is kept (7)")
    for unit, count in DAY.items():
        parser.add_argument(f"--{unit.replace(' ', '-')}", type=float, default=count, help=f"a device a day ({count})")
    return parser.parse_args()


def fit(points):
    """The line through (log10 n, y), by least squares."""
    points = [(math.log10(n), y) for n, y in points]
    middle, mean = (sum(values) / len(points) for values in zip(*points))
    slope = sum((x - middle) * (y - mean) for x, y in points) / sum((x - middle) ** 2 for x, _ in points)
    return lambda n: max(0, mean + slope * (math.log10(n) - middle))


def costs_of(tables):
    """{(unit, figure): [(devices, value), …]}, and the bytes of a device's rows with their indexes in the same form."""
    figures, costs = tables[0]["head"][2:], {}
    for unit, devices, *values in tables[0]["rows"]:
        for figure, value in zip(figures, values):
            costs.setdefault((unit, figure), []).append((devices, value))
    sizes = [int(name.split(",", 1)[1].replace("devices", "").replace(",", "")) for name in tables[1]["head"][1:]]
    rows_of_device = ("accounts", "devices", "sessions", "device_preferences", "push_tokens", "ogs_users", "ogs_registrations")
    each = {row[0]: row[1:] for row in tables[1]["rows"]}
    costs["device", "table bytes"] = [(size, sum(each[name][place] for name in rows_of_device)) for place, size in enumerate(sizes)]
    return costs, each


def print_errors(costs):
    print("| cost | predicted | measured | error |\n|---|---:|---:|---:|")
    errors = []
    for (unit, figure), points in costs.items():
        measured_at, measured = points[-1]
        predicted = fit(points[:-1])(measured_at)
        if measured < 10:  # rounds to nothing
            continue
        errors.append(predicted / measured - 1)
        print(f"| {unit}, {figure} | {predicted:,.0f} | {measured:,.0f} | {errors[-1]:+.0%} |")
    absolute = sorted(abs(error) for error in errors)
    print(f"\nMedian error {absolute[len(absolute) // 2]:.0%}, largest {absolute[-1]:.0%}.\n")


def simulate(load, cores, chance):
    """The highest use of a program's cores in a minute, and the longest wait in seconds. `load` is in CPU seconds a day."""
    queue = highest = longest = 0.0
    for minute in range(MINUTES):
        # Most is done in the evening, least at night; the factor makes some minutes twice as busy as others.
        daily = 1 + 0.8 * math.sin(2 * math.pi * (minute / MINUTES - 0.55))
        work = load / MINUTES * daily * chance.lognormvariate(-0.03125, 0.25)
        highest = max(highest, work / (60 * cores))
        queue = max(0.0, queue + work - 60 * cores)
        longest = max(longest, queue / cores)
    return highest, longest


def loads(costs, given, devices):
    """CPU seconds a day of each program, and bytes a day of each log and of the network."""
    daily = {unit: getattr(given, unit.replace(" ", "_")) for unit in DAY}
    total = {}
    for (unit, figure), points in costs.items():
        if unit in daily:
            total[figure] = total.get(figure, 0) + daily[unit] * devices * fit(points)(devices)
    return {part: total[f"CPU µs: {part}"] / 1e6 for part in PARTS}, total, daily


def disk(costs, each, given, devices, total, daily):
    """TB of the tables and of the binary log. Notifications are kept for a day, the audit log for a year."""
    last = {name: values[-1] or max(values) for name, values in each.items()}
    rows = fit(costs["device", "table bytes"])(devices) + 5 * last["ogs_games"]
    kept = daily["notification"] * (last["notifications"] + last["deliveries"]) + (daily["write"] + daily["sign in"]) * 365 * last["audit_log"]
    return (devices * (rows + kept) + given.log_days * total["binary log bytes"]) / 1e12


def main():
    given = options()
    costs, each = costs_of(json.load(given.file)["tables"])
    print_errors(costs)
    print("| devices | part | highest use | longest wait, s |\n|---:|---|---:|---:|")
    for devices in PREDICTED:
        cpu, total, daily = loads(costs, given, devices)
        for part in PARTS:
            highest, longest = simulate(cpu[part], given.cores, random.Random(f"{given.seed} {part}"))
            print(f"| {devices:,} | {part}, {given.cores:g} cores | {highest:,.0%} | {longest:,.0f} |")
        print(f"| {devices:,} | disk of the database, {given.disk:g} TB | {disk(costs, each, given, devices, total, daily) / given.disk:,.0%} | |")
        polls = devices * (daily["poll with news"] + daily["poll without news"]) / 86_400
        print(f"| {devices:,} | polls of online-go.com, 1,000 a second | {polls / 1000:,.0%} | |")
        print(f"| {devices:,} | network | {total['network bytes'] * 8 / 86_400 / 1e9:,.2f} Gbit/s on average | |")
    print("\n| part | carries |\n|---|---:|")
    for limit, part in sorted(limits(costs, each, given)):
        print(f"| {part} | {limit:,} devices |")


def limits(costs, each, given):
    """The most devices for which work never waits noticeably, rounded down to two digits."""
    def carries(devices, part):
        cpu, total, daily = loads(costs, given, devices)
        if part == "disk of the database":
            return disk(costs, each, given, devices, total, daily) <= given.disk
        if part == "polls of online-go.com, 1,000 a second":
            return devices * (daily["poll with news"] + daily["poll without news"]) / 86_400 <= 1000
        return simulate(cpu[part], given.cores, random.Random(f"{given.seed} {part}"))[1] <= NOTICEABLE

    for part in (*PARTS, "disk of the database", "polls of online-go.com, 1,000 a second"):
        steps = [digits * 10**power for power in range(3, 10) for digits in range(10, 100)]
        low, high = 0, len(steps) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if carries(steps[middle], part) else (low, middle - 1)
        name = f"{part}, {given.cores:g} cores" if part in PARTS else part
        yield steps[low], name


if __name__ == "__main__":
    main()
