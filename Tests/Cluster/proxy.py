"""HAProxy with the shipped configuration nginx/haproxy.cfg, in which only the addresses are replaced."""

import re
import subprocess

from node import free_port
from programs import ROOT


def write_configuration(file, address, servers):
    """Writes the configuration for `address` in front of `servers`: for each, its address and the port of its check."""
    text = (ROOT / "nginx/haproxy.cfg").read_text()
    text = text.replace("bind 127.0.0.1:3306", f"bind {address}")
    text = text.replace("abns@switchboard_others", f"abns@{address}")  # one for each process
    lines = re.findall(r"^  server .*:3306 .*$", text, re.M)
    for (server, check), line in zip(servers, lines, strict=True):
        here = re.sub(r"192\.0\.2\.\d+:3306", server, line).replace("port 9200", f"port {check}")
        assert here.count(server) == 1 and "port 9200" not in here, line
        text = text.replace(line, here)
    file.write_text(text)


class Proxy:
    """One address in front of three `nodes`, and for each node a check whether it takes writes."""

    def __init__(self, folder, nodes):
        self.address = f"127.0.0.1:{free_port()}"
        checks = {node.name: free_port() for node in nodes}
        file = folder / "haproxy.cfg"
        write_configuration(file, self.address, [(node.address, checks[node.name]) for node in nodes])
        self.processes = [self._start("haproxy", "-db", "-f", file)]
        for node in nodes:
            command = f"{ROOT}/nginx/database-check --no-defaults --socket={node.socket} --user=root"
            self.processes.append(self._start(
                "socat", f"TCP-LISTEN:{checks[node.name]},bind=127.0.0.1,fork,reuseaddr", f"EXEC:{command}"))

    @staticmethod
    def _start(*command):
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()
