"""Slows the processes of tests down, for Tests/run --slow."""

import os
import pathlib
import random
import threading
import time

SECONDS_OF_QUOTA = 4
# How many processes are slowed down at once.
LANES = 4


class Groups:
    """Control groups, of version 2 or of version 1, in which a process has a tenth of a processor and can be frozen."""

    def __init__(self, name):
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        of_version_2 = [pathlib.Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"]
        self.roots = {}
        for wanted in "cpu", "freezer":
            for mount in mounts:
                if mount[2] == "cgroup" and wanted in mount[3].split(","):
                    self.roots[wanted] = pathlib.Path(mount[1]) / name
        self.is_version_1 = len(self.roots) == 2
        if not self.is_version_1:
            if not of_version_2:
                raise SystemExit("error: --slow needs control groups")
            root = of_version_2[0]
            self.roots = {"cpu": root / name}
            try:
                (root / "cgroup.subtree_control").write_text("+cpu")
            except OSError as error:
                raise SystemExit(f"error: --slow needs the control groups of {root}: {error}") from error
        for path in self.roots.values():
            path.mkdir()
        if not self.is_version_1:
            (self.roots["cpu"] / "cgroup.subtree_control").write_text("+cpu")
        for group in ["all"] + [f"lane{number}" for number in range(LANES)]:
            for path in self.roots.values():
                (path / group).mkdir()
            if group != "all":
                self.limit(group)

    def limit(self, group):
        path = self.roots["cpu"] / group
        if self.is_version_1:
            (path / "cpu.cfs_period_us").write_text("100000")
            (path / "cpu.cfs_quota_us").write_text("10000")
        else:
            (path / "cpu.max").write_text("10000 100000")

    def members(self, group):
        return {int(line) for line in (self.roots["cpu"] / group / "cgroup.procs").read_text().split()}

    def move(self, process, group):
        """Moves a process, unless it has ended."""
        for path in self.roots.values():
            try:
                (path / group / "cgroup.procs").write_text(str(process))
            except OSError:
                return

    def freeze(self, group, is_frozen):
        if self.is_version_1:
            (self.roots["freezer"] / group / "freezer.state").write_text("FROZEN" if is_frozen else "THAWED")
        else:
            (self.roots["cpu"] / group / "cgroup.freeze").write_text("1" if is_frozen else "0")

    def remove(self):
        for path in self.roots.values():
            for group in list(path.iterdir()):
                if group.is_dir():
                    for process in (group / "cgroup.procs").read_text().split():
                        try:
                            (path.parent / "cgroup.procs").write_text(process)
                        except OSError:
                            pass
                    remove_when_empty(group)
            remove_when_empty(path)


def remove_when_empty(folder):
    for _ in range(100):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.1)


class Slowdown:
    """Gives each process in turn a tenth of a processor for seconds, and then stops it for seconds.

    A frozen control group stops a process without SIGSTOP and SIGCONT, because a test that stops a process itself must not
    find it running too early.
    """

    def __init__(self):
        self.groups = Groups(f"switchboard-tests-{os.getpid()}")
        self.had = {}  # when a process was last slowed down
        self.stopped = 0
        self.lock = threading.Lock()
        self.isOver = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(f"lane{number}",)) for number in range(LANES)]
        for thread in self.threads:
            thread.start()

    def jail(self):
        """The beginning of a command that is to be slowed down, with all that it starts."""
        groups = " ".join(str(path / "all" / "cgroup.procs") for path in self.groups.roots.values())
        return ["sh", "-c", f'for group in {groups}; do echo $$ >"$group"; done; exec "$@"', "sh"]

    def next(self):
        """The process that was not slowed down for the longest time; None if none runs."""
        with self.lock:
            members = self.groups.members("all")
            self.had = {process: at for process, at in self.had.items() if process in members}
            waiting = sorted(members, key=lambda process: (self.had.get(process, 0), random.random()))
            if not waiting:
                return None
            self.had[waiting[0]] = time.monotonic()
            return waiting[0]

    def run(self, lane):
        while not self.isOver.is_set():
            process = self.next()
            if process is None:
                self.isOver.wait(0.2)
                continue
            self.groups.move(process, lane)
            self.isOver.wait(random.uniform(1, SECONDS_OF_QUOTA))
            self.groups.freeze(lane, True)
            self.isOver.wait(random.uniform(1, 4))
            self.groups.freeze(lane, False)
            self.stopped += 1
            for member in self.groups.members(lane):  # what it has started since too
                self.groups.move(member, "all")

    def end(self):
        self.isOver.set()
        for thread in self.threads:
            thread.join()
        self.groups.remove()
        print(f"--slow has slowed down and stopped processes {self.stopped} times", flush=True)
