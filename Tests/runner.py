#!/usr/bin/env python3
"""Runs the built tests for Tests/run: in several processes at once, because they wait more than they compute.

Each process runs its tests one after the other, so the time of a test is its own. The first failure is printed at once, with
the command that runs this test alone, and all failures again at the end, with the slowest tests and what they waited for.

--filter and --skip are regular expressions on names such as StoreTests.RefreshTests/aTest(), as for swift test.
--slow takes nine tenths of a processor from each process in turn, and stops random processes for seconds: see slowdown.py.
--all adds the tests on other web servers, clusters, a shared host and a booted Debian, and the fuzz targets.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import slowdown

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / ".build/debug/switchboardPackageTests.xctest"
TIMES = ROOT / ".build/test-times.json"  # the seconds of each test in the last run, so that the longest begin first
FAILURES = ROOT / ".build/test-failures"  # long messages of the last run, and the output of processes with failures

# Seconds without the begin or end of a test, or for a whole command of --all: much more than any takes.
SILENCE_LIMIT = 3000

# Tests of one process: few enough that the last processes end at about the same time, and many enough that few processes
# start a database server.
TESTS_OF_PROCESS = 80

# Tests of sites that do not depend on the web server: pages in a browser, commands, units, the life of the programs, the
# relay's own socket.
ANY_WEB_SERVER = re.compile(
    r"^SiteTests\.(APIPage|AccountPageSite|Backup|ExitCode|Fault|FaultTable|ForeignPasskey|Launcher|Life|ManualCommand"
    r"|PackageScript|PairingPage|PasskeyPage|RelayAdmission|RelaySocket|Rotation|Shop|ShopPage|Takeover|Try|UnitFile"
    r"|WebPushBrowser)Tests")
# A proxy refuses the requests that nginx would refuse.
NOT_BEHIND_PROXY = re.compile(r"^SiteTests\.(Attack|Edge|SecureSite)Tests")
# The same files, but the programs are started in another way.
START_OF_PROGRAMS = re.compile(r"^SiteTests\.(Contract|Edge|Pairing|Relay|SlowClient|Push|Turns)Tests")


def say(*words):
    print(*words, flush=True)


def suite_of(test):
    return test.split("/")[0]


def target_of(test):
    return test.split(".")[0]


class Failure(Exception):
    """A reason that is no test's."""


class Job:
    """A process that runs some tests, or another command of --all."""

    def __init__(self, name, command, tests=(), environment=None):
        self.name, self.command, self.tests = name, command, list(tests)
        self.environment = environment or {}
        self.process = None
        self.begin = self.heard = self.seconds = 0.0
        self.started = {}  # the running tests, with the time of their beginning
        self.ended = {}  # seconds
        self.skipped = {}  # with the reason
        self.lost = []  # tests that did not run
        self.issues = collections.defaultdict(list)
        self.read = 0

    def start(self, folder, jail):
        self.folder = folder / self.name
        (self.folder / "evidence").mkdir(parents=True)
        environment = os.environ | {
            "SWITCHBOARD_EVIDENCE": str(self.folder / "evidence"), "SWITCHBOARD_WAITS": str(self.folder / "waits"),
        } | self.environment
        if self.tests:
            # Each makes a data directory of MariaDB once for all processes.
            environment["SWITCHBOARD_MARIADB_TEMPLATE"] = str(folder / "mariadb-of-sites")
            environment["SWITCHBOARD_TEST_TEMPLATE"] = str(folder / "mariadb-of-tests")
        environment.setdefault("SWIFT_BACKTRACE", "threads=crashed,registers=none,images=none")
        command = self.command
        if self.tests:
            command = [PROGRAM, "--testing-library", "swift-testing", "--no-parallel", "--event-stream-version", "0",
                       "--event-stream-output-path", self.folder / "events", "--filter", pattern(self.tests)]
        with open(self.folder / "output", "wb") as output:
            self.process = subprocess.Popen(
                jail + command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
        self.begin = self.heard = time.monotonic()

    def output(self):
        return (self.folder / "output").read_text(errors="replace")

    def read_events(self):
        """Reads the events that have come since the last call. Returns the tests with a new issue."""
        path = self.folder / "events"
        if not self.tests or not path.exists():
            return []
        with open(path, "rb") as file:
            file.seek(self.read)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read += len(text)
        if text:
            self.heard = time.monotonic()
        found = []
        for line in text.splitlines():
            record = json.loads(line)
            if record["kind"] == "event" and (test := self.take(record["payload"])):
                found.append(test)
        return found

    def take(self, event):
        """Takes an event. Returns its test if it is an issue."""
        kind, test = event["kind"], event.get("testID")
        test = test and re.sub(r"/[^/]*\.swift:\d+:\d+$", "", test)
        now = event["instant"]["absolute"]
        if kind == "issueRecorded" and not event["issue"].get("isKnown"):
            place = (event["issue"].get("sourceLocation") or {})
            text = "\n".join(message["text"] for message in event["messages"])
            self.issues[test or self.name].append(f"{place.get('fileID', '')}:{place.get('line', '')}: {text}")
            return test or self.name
        if kind == "testStarted":
            self.started[test] = now
        elif kind == "testEnded" and test in self.started:
            self.ended[test] = now - self.started.pop(test)
        elif kind == "testSkipped":
            self.skipped[test] = event["messages"][0]["text"]
        return None

    def watch(self):
        """Ends a process that hangs. A process of tests mostly ends earlier by itself, and says which test waits for what."""
        if time.monotonic() - self.heard > SILENCE_LIMIT:
            os.killpg(self.process.pid, signal.SIGKILL if self.name in self.issues else signal.SIGTERM)
            self.issues[self.name] = [f"for {SILENCE_LIMIT} s, nothing has ended"]
            self.heard += 60  # for its end, before it is killed

    def finish(self):
        """Takes what the ended process has left. Returns the tests with a new issue."""
        self.seconds = time.monotonic() - self.begin
        found = self.read_events()
        status = self.process.returncode
        if not self.tests:
            if status:
                self.issues[self.name].append(f"status {status}\n" + tail(self.output(), 9))
            return list(self.issues)
        end = f"the process ended with status {status}\n{tail(self.output(), 9)}"
        for test in self.started.keys() & set(self.tests):
            self.issues[test].append(f"did not end: {end}")
            found.append(test)
        done = self.started | self.ended | self.skipped
        self.lost = [test for test in self.tests if test not in done]
        if self.lost:
            names = "\n".join(self.lost)
            self.issues[self.name].append(f"{len(self.lost)} tests did not run: {end}\n{names}")
            found.append(self.name)
        if status and not self.issues:
            self.issues[self.name].append(end)
            found.append(self.name)
        return found

    def waits(self):
        """For each test, the seconds of each event that it waited for."""
        waits = collections.defaultdict(collections.Counter)
        path = self.folder / "waits"
        for line in path.read_text().splitlines() if path.exists() else []:
            wait = json.loads(line)
            waits[wait["test"]][wait["event"]] += wait["seconds"]
        return waits


def tail(text, count):
    return "\n".join(text.splitlines()[-count:])


def pattern(tests):
    """A regular expression that selects exactly these tests."""
    return "^(" + "|".join(re.escape(test) + "($|/)" for test in tests) + ")"


def list_tests(filters, skips):
    listed = subprocess.run(
        [PROGRAM, "--testing-library", "swift-testing", "--list-tests"], capture_output=True, text=True, check=True)
    tests = [line for line in listed.stdout.splitlines() if re.match(r"\w+\.", line)]
    return [
        test for test in tests
        if (not filters or any(re.search(word, test) for word in filters))
        and not any(re.search(word, test) for word in skips)
    ]


def jobs_of(tests, name="", environment=None):
    """Divides tests among processes: a suite of SiteTests alone, other suites together while they are small."""
    suites = collections.defaultdict(list)
    for test in tests:
        suites[suite_of(test)].append(test)
    groups = collections.defaultdict(list)
    for suite, members in suites.items():
        target = target_of(suite)
        open_groups = groups[target]
        if target == "SiteTests" or not open_groups or len(open_groups[-1]) + len(members) > TESTS_OF_PROCESS:
            open_groups.append(list(members))
        else:
            open_groups[-1] += members
    jobs = []
    for target, parts in groups.items():
        for number, members in enumerate(parts, 1):
            label = suite_of(members[0]).split(".")[1] if target == "SiteTests" else str(number)
            jobs.append(Job(f"{name or target}-{label}", None, members, environment))
    return jobs


# --all takes more rounds of what costs the most.
MORE_ROUNDS = {"SWITCHBOARD_WALKS": "50", "SWITCHBOARD_SEED": "1"}

# Targets whose tests wait the most, for the first run.
WAITING = ["FastCGITests", "MariaDBTests", "DeliveryTests", "SiteTests"]


def weight(job, times):
    """Jobs with a greater weight begin earlier."""
    target = target_of(job.tests[0])
    seconds = sum(times.get(test, 0) for test in job.tests)
    return seconds, WAITING.index(target) if target in WAITING else -1, len(job.tests)


def other_jobs(tests, release):
    """The jobs that only --all has, the longest first."""
    environment = {"SWITCHBOARD_BIN": release}
    jobs = []

    def command(name, *words, unless=None):
        if not (unless and os.environ.get(unless)):
            jobs.append(Job(name, ["bash", "-c", " && ".join(words)], environment=environment))

    releases = "$(. /etc/os-release && echo --release $VERSION_CODENAME) --release trixie"
    command(
        "boot", 'packages=$(mktemp -d)', 'trap "rm -rf $packages" EXIT', 'Tests/Boot/run --build "$packages"',
        f'Tests/Boot/run --package "$packages"/package/*.deb --previous "$packages"/previous/*.deb {releases}',
        unless="SWITCHBOARD_NO_BOOT")
    command(
        "clusters", *(f'Tests/Cluster/run {words} --bin "$SWITCHBOARD_BIN"' for words in (
            "races --count 20", "outcomes --count 20", "replica", "--minutes 1")), unless="SWITCHBOARD_NO_CLUSTER")
    # The other tests go first, because fuzzing never waits.
    command("fuzz", "exec nice -n 5 Tests/Fuzz/run --seconds 15", unless="SWITCHBOARD_NO_FUZZ")
    command("shared", 'Tests/SharedHosting/run --bin "$SWITCHBOARD_BIN"', unless="SWITCHBOARD_NO_SHARED")
    command("schemathesis", 'Tests/Schemathesis/run --bin "$SWITCHBOARD_BIN"')
    requests = [test for test in tests if target_of(test) == "SiteTests" and not ANY_WEB_SERVER.search(test)]
    for server in "apache", "lighttpd":
        jobs += jobs_of(requests, server, environment | {"SWITCHBOARD_WEB": server})
    behind = [test for test in requests if not NOT_BEHIND_PROXY.search(test)]
    jobs += jobs_of(behind, "proxy", environment | {"SWITCHBOARD_WEB_PROXY": "1"})
    starts = [test for test in requests if START_OF_PROGRAMS.search(test)]
    for server in "apache-cgi", "lighttpd-child", "lighttpd-cgi":
        jobs += jobs_of(starts, server, environment | {"SWITCHBOARD_WEB": server})
    return jobs


def search_evidence(job):
    """Searches what the tests' programs stored and logged for the secrets that they issued. Returns whether there were any."""
    folder = job.folder / "evidence"
    script = 'die() { echo "$1"; exit 1; }; . Tests/evidence.sh; search_evidence "$1" some'
    found = subprocess.run(["bash", "-euc", script, "bash", folder], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        job.issues[job.name].append(found.stdout + found.stderr)
    return (folder / "secrets").exists()


class Run:
    def __init__(self, jobs, limit, folder, slow):
        self.waiting, self.limit, self.folder, self.slow = list(jobs), limit, folder, slow
        self.count = len(jobs)
        self.running, self.ended = [], []
        self.failed = {}  # a test's or a command's name → its issues

    def report(self, job, names):
        """Prints the issues of tests that had none before."""
        for name in dict.fromkeys(names):
            if name not in self.failed:
                say(text_of_failure(name, job.issues[name]))
            self.failed[name] = job.issues[name]

    def step(self):
        while self.waiting and len(self.running) < self.limit:
            job = self.waiting.pop(0)
            job.start(self.folder, self.slow.jail() if self.slow else [])
            self.running.append(job)
        for job in list(self.running):
            self.report(job, job.read_events())
            if job.process.poll() is None:
                job.watch()
                continue
            self.running.remove(job)
            self.ended.append(job)
            self.report(job, job.finish())
            before = set(job.issues)
            job.has_secrets = search_evidence(job) if job.tests else False
            self.report(job, set(job.issues) - before)
            if job.issues:
                FAILURES.mkdir(exist_ok=True)
                shutil.copy(job.folder / "output", FAILURES / f"{job.name}.output")
            count = f"{len(job.tests)} tests, " if job.tests else ""
            say(f"{'✘' if job.issues else '✔'} {job.name}: {count}{job.seconds:.0f} s ({len(self.ended)} of {self.count})")

    def complete(self):
        while self.waiting or self.running:
            self.step()
            time.sleep(0.2)

    def end(self):
        """Ends what still runs, and waits for it: a booted machine takes a moment."""
        for job in self.running:
            try:
                os.killpg(job.process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for job in self.running:
            job.process.wait()


def text_of_failure(name, issues):
    """What a person reads first: of each message the beginning. FAILURES has all of it."""
    lines = [f"✘ {name}"]
    long = len(issues) > 3
    for issue in issues[:3]:
        shown = issue.splitlines()
        beginning = [line if len(line) <= 400 else line[:400] + " …" for line in shown[:10]]
        long = long or beginning != shown
        lines += ["    " + line for line in beginning] + (["    …"] if len(shown) > 10 else [])
    if len(issues) > 3:
        lines.append(f"    and {len(issues) - 3} more")
    if long:
        FAILURES.mkdir(exist_ok=True)
        path = FAILURES / re.sub(r"\W+", "-", name)
        path.write_text("\n".join(issues))
        lines.append(f"  All of it: {path.relative_to(ROOT)}")
    if re.match(r"\w+Tests\.", name):
        lines.append(f"  Run it alone: Tests/run --filter {shlex.quote(re.escape(name.split('(')[0]))}")
    return "\n".join(lines)


def show_slowest(run, count):
    times = {test: (seconds, job) for job in run.ended for test, seconds in job.ended.items() if "/" in test}
    slowest = sorted(times, key=lambda test: times[test][0], reverse=True)[:count]
    if not slowest:
        return
    say(f"The slowest {len(slowest)} tests, and what they waited for:")
    for test in slowest:
        seconds, job = times[test]
        waits = job.waits()[test.split("/")[-1]].most_common(3)
        parts = ", ".join(f"{event[:80]} {length:.1f} s" for event, length in waits if length >= 0.1)
        say(f"  {seconds:5.1f} s  {test}" + (f": {parts}" if parts else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--all", metavar="RELEASE", help="the folder of the released programs")
    parser.add_argument("--jobs", type=int, default=4 * os.cpu_count())
    parser.add_argument("--part", action="append", default=[], help="an earlier part of the run, with its time")
    options = parser.parse_args()
    times = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    tests = list_tests(options.filter, options.skip)
    if not tests:
        raise Failure("no test has such a name")
    environment = {"SWITCHBOARD_BIN": options.all} | MORE_ROUNDS if options.all else None
    jobs = jobs_of(tests, environment=environment)
    jobs.sort(key=lambda job: weight(job, times), reverse=True)
    if options.all:
        jobs = other_jobs(tests, options.all) + jobs
    slow = slowdown.Slowdown() if options.slow else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="switchboard-tests-"))
    shutil.rmtree(FAILURES, ignore_errors=True)
    begin = time.monotonic()
    run = Run(jobs, options.jobs, folder, slow)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run.complete()
        options.part.append(f"tests {time.monotonic() - begin:.0f} s")
        finish(run, options, times)
    finally:
        run.end()
        if slow:
            slow.end()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if run.failed else 0)


def finish(run, options, times):
    for job in run.ended:
        times |= job.ended
    TIMES.write_text(json.dumps(times))
    selected = options.filter or options.skip
    if not selected and not any(job.has_secrets for job in run.ended):
        run.failed["evidence"] = ["No test kept a secret"]
    show_slowest(run, 20 if not selected else 5)
    skipped = {test: reason for job in run.ended for test, reason in job.skipped.items() if "/" in test}
    for test, reason in skipped.items():
        say(f"- {test} was left out: {reason}")
    for name, issues in run.failed.items():
        say(text_of_failure(name, issues))
    say("Time: " + ", ".join(options.part))
    passed = sum(1 for job in run.ended for test in job.tests if test in job.ended and test not in job.issues)
    passed += sum(1 for job in run.ended if not job.tests and not job.issues)
    failed = len(run.failed) + sum(max(len(job.lost) - 1, 0) for job in run.ended)
    say(f"{passed} passed, {failed} failed" + (f", {len(skipped)} skipped" if skipped else ""))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
