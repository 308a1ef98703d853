"""A machine for tests: systemd as the first process of a Debian tree, in its own namespaces."""

import ctypes
import os
import pathlib
import signal
import subprocess
import time

from waiting import LIMIT, wait

HERE = pathlib.Path(__file__).parent
NAMESPACES = ["--pid", "--mount", "--net", "--uts", "--ipc", "--cgroup"]
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "dumb",
}


def now():
    """The time in the format of `/health`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Machine:
    """Runs the Debian in `tree`. Ends with this process, however this process ends."""

    def __init__(self, tree, cgroup):
        self.tree, self.cgroup = pathlib.Path(tree), pathlib.Path(cgroup)
        self.keeper = None  # the process outside that ends with the machine
        self.init = 0  # systemd's process id outside

    def boot(self):
        """Boots, waits for the end of the boot, and returns systemd's word for its state."""
        self.cgroup.mkdir(exist_ok=True)

        def enter_cgroup():
            (self.cgroup / "cgroup.procs").write_text(str(os.getpid()))

        self.keeper = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork", "--kill-child",
             HERE / "init", self.tree],
            preexec_fn=enter_cgroup, start_new_session=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait("the start of systemd", lambda: self.keeper.poll() is not None or self._find_init())
        if self.keeper.poll() is not None:
            self.kill()
            raise RuntimeError(f"systemd does not start: {self.keeper.stderr.read().decode()}")
        self._enter_network()
        return wait("the end of the boot", self._state_after_boot, 0.1)

    def _state_after_boot(self):
        """systemd's word for its state; None while it boots."""
        state = self.run("systemctl is-system-running --wait", check=False).strip()
        return state if state in ("running", "degraded") else None

    def _find_init(self):
        path = pathlib.Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children")
        for child in path.read_text().split():
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                self.init = int(child)
        return self.init

    def _enter_network(self):
        """Uses the machine's network for all later connections of this process and of its later threads."""
        network = os.open(f"/proc/{self.init}/ns/net", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).setns(network, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter the machine's network")
        os.close(network)

    def argv(self, command):
        """The command line that runs the bash command `command` as root inside."""
        names = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
        return ["nsenter", "--target", str(self.init), "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup",
                "env", "-i", "--chdir=/root", *names, "bash", "-c", command]

    def run(self, command, check=True, text=None):
        """Runs `command` with `text` as input, and returns its standard output and error."""
        done = subprocess.run(
            self.argv(command), input=text or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LIMIT, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"status {done.returncode} of: {command}\n{done.stdout}")
        return done.stdout

    def status(self, command):
        """The exit status of `command`."""
        return subprocess.run(self.argv(command), capture_output=True, check=False).returncode

    def power_off(self):
        """Shuts down, like an administrator."""
        self.run("systemctl poweroff", check=False)
        self.keeper.wait(LIMIT)
        self.init = 0

    def kill(self):
        """Ends all processes of the machine at once, which also removes its mounts and its network."""
        if self.keeper and self.keeper.poll() is None:
            os.kill(self.init or self.keeper.pid, signal.SIGKILL)
            self.keeper.wait()
