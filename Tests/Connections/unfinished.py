"""A whole site, of which one address holds thousands of connections: see run."""

import argparse
import http.client
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import network
from crowd import Crowd
from network import CROWD, MOST, OTHER, ROOT, SITE, wait

ANSWERS = 10  # of /health to another address at least, while the crowd holds its connections


class Site:
    """A site of nginx/run in the site's namespace, at port 80 of its address."""

    def __init__(self, networks, web, state, bin_folder, model):
        self.networks, self.web, self.state = networks, web, state
        self.command = [ROOT / "nginx/run", "--state", state, "--port", "80", "--bin", bin_folder]
        if model:
            self.command += ["--model", model]

    def start(self, processes):
        self._nginx_run("--detach")
        if self.web == "nginx":
            file = self.state / "nginx.conf"
            file.write_text(re.sub("worker_processes .*;", f"worker_processes {processes};", file.read_text()))
            os.kill(int((self.state / "run/web.pid").read_text().split()[0]), signal.SIGHUP)

    def stop(self):
        self._nginx_run("--stop")

    def _nginx_run(self, word):
        command = self.command if word == "--detach" else [self.command[0], "--state", self.state]
        done = subprocess.run(
            self.networks.argv(self.networks.site, "env", f"SWITCHBOARD_WEB={self.web}", *command, word),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
        assert done.returncode == 0, f"nginx/run {word} behind {self.web}: {done.stdout}"


def lead_to_loopback(networks):
    """nginx/run listens on 127.0.0.1 alone. Apache, which is not root there, may take port 80 too."""
    for setting in ("conf.all.route_localnet=1", "conf.to-clients.route_localnet=1", "ip_unprivileged_port_start=0"):
        networks.run(networks.site, "sysctl", "-qw", f"net.ipv4.{setting}")
    networks.run(networks.site, "nft", "-f", "-", input="""table ip test {
      chain arriving {
        type nat hook prerouting priority dstnat
        iifname "to-clients" tcp dport 80 dnat to 127.0.0.1
      }
    }
    """)


def health(limit=None):
    """The seconds until /health has answered another address; None after `limit` seconds without an answer."""
    began = time.monotonic()
    connection = http.client.HTTPConnection(SITE[0], 80, source_address=(OTHER[0], 0), timeout=limit)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except OSError:
        assert limit is not None, "the connection of another address breaks"
        return None
    finally:
        connection.close()
    assert status == 200, f"/health answers another address with {status}"
    return time.monotonic() - began


def look(networks, web):
    """The connections of the crowd. Fails if these are more than the rules allow."""
    found = networks.connections(CROWD[0])
    assert found <= MOST, f"behind {web}, one address has {found} connections"
    return found


def try_site(networks, options, web, state):
    site = Site(networks, web, state, options.bin, options.model)
    crowd = Crowd(options.count, CROWD[0], SITE[0], 80)
    try:
        site.start(max(1, options.count // 9000))
        if options.without:
            networks.limit("stop")
        else:
            networks.limit("start")
            assert networks.limit("status") == "on"
        wait("the site", lambda: health(10))
        crowd.start()
        if options.without:
            show_without(networks, crowd, web, options.count)
            return
        most, times = 0, []

        def asks_enough():
            nonlocal most
            most = max(most, look(networks, web))
            times.append(health())
            return crowd.tried >= options.count and crowd.refused and len(times) >= ANSWERS
        wait("answers while the kernel refuses connections", asks_enough)
        print(f"{web}: {options.count} clients of one address: {most} connected at most, {crowd.refused} refused, "
              f"{crowd.closed} closed by the site; {len(times)} answers to another address took "
              f"{min(times) * 1000:.0f} to {max(times) * 1000:.0f} ms", flush=True)
    finally:
        crowd.end()
        site.stop()


def show_without(networks, crowd, web, count):
    wait(f"{count} connections of one address", lambda: crowd.tried >= count)
    for _ in range(3):
        time.sleep(10)  # for a person who looks: the site accepts the connections meanwhile
        took = health(30)
        print(f"{web}, without the rules: {networks.connections(CROWD[0])} connections of one address; another got "
              + ("no answer within 30 s" if took is None else f"an answer after {took:.1f} s"), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("state")
    parser.add_argument("bin")
    parser.add_argument("--count", type=int, default=9000)
    parser.add_argument("--model")
    parser.add_argument("--without", action="store_true")
    parser.add_argument("web", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for web in options.web:
        # Other namespaces for each, because connections that end slowly would count for the next site.
        state = pathlib.Path(options.state) / web
        state.mkdir()
        networks = network.Networks(state)
        try:
            network.enter(networks.clients)
            lead_to_loopback(networks)
            try_site(networks, options, web, state / "site")
        finally:
            networks.end()


if __name__ == "__main__":
    main()
