"""Two network namespaces with a cable between them: one for the site, one for its clients."""

import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "Tests/Boot"))
from waiting import wait  # noqa: E402

SITE = ("10.77.0.1", "fd77::1")
# Two clients, of which a third shares the /64 with the first one.
CROWD, OTHER = ("10.77.0.2", "fd77:0:0:1::2"), ("10.77.0.3", "fd77:0:0:2::2")
CROWDS_NETWORK = "fd77:0:0:1::3"
LIMIT = 1200
# The kernel may miss a few connections where it is interrupted between their count and their entry in its table.
MOST = LIMIT + 100


class Networks:
    """The namespaces end with this process, and with the programs that were started in them."""

    def __init__(self, state):
        self.share = pathlib.Path(state) / "share"
        self.settings = pathlib.Path(state) / "etc"
        self.site, self.clients = self._namespace(), self._namespace()
        run = subprocess.run
        run(["ip", "link", "add", "to-site", "netns", str(self.clients.pid), "type", "veth",
             "peer", "name", "to-clients", "netns", str(self.site.pid)], check=True)
        for address in (SITE[0] + "/24", SITE[1] + "/48"):
            self.run(self.site, "ip", "address", "add", address, "dev", "to-clients", *_nodad(address))
        for address in (CROWD[0] + "/24", OTHER[0] + "/24", CROWD[1] + "/48", OTHER[1] + "/48", CROWDS_NETWORK + "/48"):
            self.run(self.clients, "ip", "address", "add", address, "dev", "to-site", *_nodad(address))
        for side, link in ((self.site, "to-clients"), (self.clients, "to-site")):
            self.run(side, "ip", "link", "set", "lo", "up")
            self.run(side, "ip", "link", "set", link, "up")
        self._copy_rules()

    @staticmethod
    def _namespace():
        own = os.readlink("/proc/self/ns/net")
        keeper = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"])
        wait("a network namespace", lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != own)
        return keeper

    def _copy_rules(self):
        """Copies the files that load the rules, with other paths of the settings."""
        self.share.mkdir()
        self.settings.mkdir()
        for name in ("connections.nft", "environment.sh"):
            shutil.copy(ROOT / "Sources/companion" / name, self.share)
        text = (ROOT / "Sources/companion/limit-connections").read_text()
        program = self.share / "limit-connections"
        program.write_text(text.replace("=/etc/switchboard\n", f"={self.settings}\n")
                           .replace("=/etc/nginx/switchboard/", f"={self.settings}/"))
        program.chmod(0o755)

    def argv(self, side, *words):
        return ["nsenter", f"--net=/proc/{side.pid}/ns/net", *map(str, words)]

    def run(self, side, *words, check=True, **options):
        """Runs a command in a namespace, and returns its standard output."""
        done = subprocess.run(self.argv(side, *words), stdout=subprocess.PIPE, text=True, check=False, **options)
        assert not check or done.returncode == 0, f"status {done.returncode} of {' '.join(map(str, words))}"
        return done.stdout

    def limit(self, word):
        """Runs limit-connections in the site's namespace."""
        return self.run(self.site, self.share / "limit-connections", word).strip()

    def connections(self, address, port=80):
        """How many open connections of the client at `address` the site's kernel has."""
        return len([
            line for line in self.run(self.site, "ss", "-Htn", "state", "established", "sport", f"= :{port}").splitlines()
            if f"{address}:" in line.replace("[", "").replace("]", "")])

    def end(self):
        for keeper in (self.site, self.clients):
            keeper.kill()
            keeper.wait()


def enter(side):
    """Uses the network of `side` for all later sockets of this thread."""
    with open(f"/proc/{side.pid}/ns/net", "rb") as network:
        if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter the network")


def connect(client, site, port):
    """A socket of the client's address that begins to connect to the site's."""
    begun = socket.socket(socket.AF_INET6 if ":" in client else socket.AF_INET)
    begun.setblocking(False)
    begun.bind((client, 0))
    begun.connect_ex((site, port))
    return begun


def _nodad(address):
    return ["nodad"] if ":" in address else []
