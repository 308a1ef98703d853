"""Sending to APNs: our engine, h2load and, if Go is installed, Go's net/http, over one connection; ours over several."""

import json
import re
import shutil
import subprocess

from contenders import HERE, cpu
from tables import median, print_table, ratios

COUNT, FAR_COUNT = 100_000, 20_000
# h2load's connection has as many open streams as ours; Go is fastest with fewer.
IN_FLIGHT, IN_FLIGHT_OF_GO = 500, 100
TOPIC = "com.example.switchboard"
PAYLOAD = json.dumps({
    "aps": {"alert": "It's your turn in: Friendly match", "badge": 1, "sound": "default"},
    "web_url": "https://online-go.com/game/79504999", "app_url": "ogs://game/79504999", "game_id": 79504999,
    "action": "open_game", "game_name": "Friendly match"}, separators=(",", ":"))


class Gateway:
    """The fake of Apple's service, which checks each request and keeps none. One that is far away answers after 100 ms."""

    def __init__(self, stage, programs, is_far=False):
        name = "far-apns" if is_far else "apns"
        folder = stage.directory / name
        faults = ["--fault", "late 100 every 1"] if is_far else []
        self.process = stage.start(name, [programs / "switchboard-fakes", "apns", "--folder", folder, "--forgetful", *faults], None)
        stage.await_file(folder / "port", self.process)
        self.url = f"https://localhost:{(folder / 'port').read_text().strip()}"
        self.certificate = folder / "certificate.pem"

    def settings(self):
        """The companion's settings for this gateway."""
        key = self.certificate.with_name("provider.p8")
        if not key.exists():
            subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
                           check=True, stderr=subprocess.DEVNULL)
        return {"APNS_KEY_ID": "KEY1234567", "APNS_TEAM_ID": "TEAM123456", "APNS_BUNDLE_ID": TOPIC,
                "APNS_PRIVATE_KEY_FILE": str(key), "APNS_ENDPOINT_OVERRIDE": self.url, "APNS_CA_CERT": str(self.certificate)}

    def cpu(self):
        return cpu([self.process.pid])


def measure(stage, programs, rounds, _seconds, budgets):
    gateway = Gateway(stage, programs)
    senders = {"Swift": lambda: ours(stage, programs, gateway, COUNT, 1), "h2load": lambda: h2load(stage, gateway)}
    go = build_go(stage)
    if go:
        senders["Go"] = lambda: reported(stage, [go, gateway.url, gateway.certificate, COUNT, IN_FLIGHT_OF_GO])
    runs = {name: [] for name in senders}
    for number in range(rounds):
        names = list(senders)
        for name in names[number % len(names):] + names[:number % len(names)]:
            before = gateway.cpu()
            run = senders[name]()
            runs[name].append(run | {"rate": COUNT / run["seconds"], "fake": gateway.cpu() - before})

    far = Gateway(stage, programs, is_far=True)
    over = {1: [], 4: []}
    for _ in range(rounds):
        for connections, far_runs in over.items():
            far_runs.append(FAR_COUNT / ours(stage, programs, far, FAR_COUNT, connections)["seconds"])

    def of(name, figure, scale=1.0):
        return [run[figure] * scale for run in runs[name]]

    print_table((" sender", "requests/s", "CPU s / 10,000", "CPU s of the fake / 10,000", "the fake's share of the time"), *(
        (name, median(of(name, "rate"), "{:,.0f}"), median(of(name, "cpu", 1e4 / COUNT), "{:.4f}"),
         median(of(name, "fake", 1e4 / COUNT), "{:.4f}"),
         median(ratios(of(name, "fake"), of(name, "seconds")))) for name in senders))
    print_table((" connections, answers after 100 ms", "requests/s"), *(
        (connections, median(rates, "{:,.0f}")) for connections, rates in over.items()))
    budgets.row("APNs, answers after 100 ms, requests per second: 4 connections / 1", median(ratios(over[4], over[1])), "none", None)
    budgets.at_least("APNs, requests per second: Swift / h2load", ratios(of("Swift", "rate"), of("h2load", "rate")), 0.8)
    budgets.at_least("APNs, requests per CPU second: Swift / h2load", ratios(of("h2load", "cpu"), of("Swift", "cpu")), 0.8)
    if go:
        budgets.at_least("APNs, requests per second: Swift / Go", ratios(of("Swift", "rate"), of("Go", "rate")), 5)
        budgets.at_least("APNs, requests per CPU second: Swift / Go", ratios(of("Go", "cpu"), of("Swift", "cpu")), 5)
    else:
        budgets.row("APNs: Swift / Go", "Go is not installed", "at least 5", None)
    return (f"APNs: {COUNT:,} notifications in each of {rounds} rounds, over TLS to `switchboard-fakes apns`; the fake takes "
            "more of the time than either sender, so its work is in the requests per second, and the CPU seconds count; "
            "h2load sends the same fields again and again, unverified, and its start is not counted")


def reported(stage, command):
    return json.loads(stage.run("sender", [str(word) for word in command]).output)


def ours(stage, programs, gateway, count, connections):
    return reported(stage, [programs / "switchboard-sender", gateway.url, gateway.certificate, count, connections])


def h2load(stage, gateway):
    payload = stage.directory / "payload.json"
    payload.write_text(PAYLOAD)
    fields = {
        "authorization": "bearer " + "t" * 220, "apns-push-type": "alert", "apns-topic": TOPIC, "apns-priority": "10",
        "apns-expiration": "2000000000", "apns-id": "01900000-0000-7004-8000-000000000001", "apns-collapse-id": "0" * 32}

    def load(count, streams):
        command = ["h2load", f"--requests={count}", "--clients=1", "--threads=1", f"--max-concurrent-streams={streams}",
                   f"--data={payload}"] + [f"--header={name}: {value}" for name, value in fields.items()]
        run = stage.run("h2load", command + [f"{gateway.url}/3/device/{'0a' * 32}"])
        if f"{count} succeeded" not in run.output or f"{count} 2xx" not in run.output:
            raise SystemExit(f"error: h2load was not served: {run.output}")
        return run

    # Excludes the time of the start, like our sender's clock.
    start, run = load(1, 1), load(COUNT, IN_FLIGHT)
    value, unit = re.search(r"finished in ([\d.]+)(m?s),", run.output).groups()
    return {"seconds": float(value) / (1000 if unit == "ms" else 1), "cpu": run.cpu - start.cpu}


def build_go(stage):
    """- Returns: None without Go."""
    if not shutil.which("go"):
        return None
    program = stage.directory / "apns-go"
    stage.run("go", ["go", "build", "-o", program, HERE / "go" / "main.go"])
    return program
