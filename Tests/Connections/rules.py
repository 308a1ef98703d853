"""Tries what the rules count, with a server that accepts connections and does nothing else: see run."""

import resource
import signal
import socket
import struct
import sys
import threading

import network
from network import CROWD, CROWDS_NETWORK, LIMIT, MOST, OTHER, SITE, wait

PORTS = (80, 8080)


class Server(threading.Thread):
    """Accepts connections on all addresses of the site, and keeps them."""

    def __init__(self, networks):
        super().__init__(daemon=True)
        self._networks = networks
        self._listens = threading.Event()
        self._kept = []

    def run(self):
        network.enter(self._networks.site)
        listeners = []
        for port in PORTS:
            listeners.append(socket.create_server(("::", port), family=socket.AF_INET6, backlog=4096, dualstack_ipv6=True))
        for listener in listeners[1:]:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        self._listens.set()
        self._accept(listeners[0])

    def start(self):
        super().start()
        self._listens.wait()

    def _accept(self, listener):
        while True:
            self._kept.append(listener.accept()[0])


class Clients:
    """Opens connections of one address one after the other, so that each outcome is certain."""

    def __init__(self, address, port=80):
        self.address, self.port = address, port
        self.site = SITE[1] if ":" in address else SITE[0]
        self.open = []

    def connect(self):
        """Whether the connection opens; a lost packet is sent again by the kernel."""
        one = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a close resets the connection
        one.bind((self.address, 0))
        try:
            one.connect((self.site, self.port))
        except ConnectionRefusedError:
            one.close()
            return False
        self.open.append(one)
        return True

    def fill(self):
        """Opens connections until one is refused, and returns whether this happens at the limit."""
        while len(self.open) < MOST and self.connect():
            pass
        return LIMIT <= len(self.open) < MOST

    def close(self):
        for one in self.open:
            one.close()
        self.open = []


def try_families(networks):
    """An IPv4 address and the /64 of an IPv6 address have 1,200 connections each, and others are not affected."""
    networks.limit("start")
    for family in (0, 1):
        crowd, other = Clients(CROWD[family]), Clients(OTHER[family])
        assert crowd.fill(), f"{CROWD[family]} has {len(crowd.open)} connections"
        assert other.connect(), f"{OTHER[family]} is refused"
        beside = Clients(CROWD[family], port=8080)
        assert beside.connect(), "a port that is not the web server's is limited"
        if family:
            assert not Clients(CROWDS_NETWORK).connect(), "another address of the /64 is not counted with the first"
        # A closed connection makes room.
        crowd.open.pop().close()
        wait("room for a connection", crowd.connect)
        for clients in (crowd, other, beside):
            clients.close()
        wait("the end of all connections", lambda address=CROWD[family]: networks.connections(address) == 0)


def try_proxies(networks):
    """Proxies of the settings and of nginx's list are not counted, and a port in the site's address is limited."""
    (networks.settings / "environment").write_text("SWITCHBOARD_PUBLIC_URL=https://a.example.org:8080/b\n")
    (networks.settings / "environment-responder").write_text(
        f'SWITCHBOARD_TRUSTED_PROXIES="{CROWD[0]}, {CROWD[1]}"\n')
    (networks.settings / "uncounted").write_text(f"  {OTHER[0]}  '';\n")
    assert networks.limit("status") == "outdated"
    networks.limit("start")
    assert networks.limit("status") == "on"
    for proxy in (CROWD[0], CROWD[1], OTHER[0]):
        clients = Clients(proxy)
        assert not clients.fill(), f"the proxy {proxy} is limited to {len(clients.open)} connections"
        clients.close()
    clients = Clients(OTHER[1], port=8080)
    assert clients.fill(), f"the port of the site's address lets {len(clients.open)} connections in"
    clients.close()
    for name in ("environment", "environment-responder", "uncounted"):
        (networks.settings / name).unlink()


def try_other_rules(networks):
    """Other rules stay, a connection that is older than the rules stays, and a wrong setting leaves the old rules."""
    networks.limit("stop")
    assert networks.limit("status") == "off"
    networks.run(networks.site, "nft", "-f", "-", input="table inet others {\n set a { type ipv4_addr\n}\n}\n")
    before = networks.run(networks.site, "nft", "list", "ruleset")
    older = Clients(CROWD[0])
    assert not older.fill(), "connections are limited without the rules"
    networks.limit("start")
    older.open[0].send(b"a")
    assert len(older.open) == MOST and not _is_reset(older.open[0]), "an older connection is cut"
    older.close()
    (networks.settings / "environment").write_text("SWITCHBOARD_TRUSTED_PROXIES=nonsense\n")
    with_rules = networks.run(networks.site, "nft", "list", "tables")
    networks.run(networks.site, networks.share / "limit-connections", "start", check=False, stderr=-3)
    assert networks.run(networks.site, "nft", "list", "tables") == with_rules, "a wrong setting removes the rules"
    (networks.settings / "environment").unlink()
    networks.limit("stop")
    assert networks.run(networks.site, "nft", "list", "ruleset") == before, "the rules leave something"


def _is_reset(one):
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False


def main(state):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 10 * LIMIT)), hard))
    networks = network.Networks(state)
    try:
        Server(networks).start()
        network.enter(networks.clients)
        for attempt in (try_families, try_proxies, try_other_rules):
            attempt(networks)
            print("ok:", attempt.__doc__, flush=True)
    finally:
        networks.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
