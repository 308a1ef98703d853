"""Requests of paired phones to an agent: through nginx and the relay, and through nginx alone; the relay's memory."""

import http.client
import json
import resource
import socket
import socketserver
import threading

from contenders import memory
from load import CONNECTIONS, load_with
from tables import median, print_table, ratios

PATH = "/api/file"
OPEN = 500
# An agent that does almost nothing, so that the other programs dominate.
AGENT = """
pid DIRECTORY/agent.pid;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:PORT;
    location / { return 200 "ok"; }
  }
}
"""


def measure(stage, programs, rounds, seconds, budgets):
    program, agent = programs / "switchboard-relay", start_agent(stage)
    relay, alone = stage.relay("relay", program, agent), stage.without_relay("nginx alone", agent)
    token = pair(stage.site)
    callers = stage.directory / "callers"
    callers.write_text(f"{token} - -\n" * 2)  # one for each thread of wrk
    for contender in (relay, alone):
        load_with(contender, "GET", PATH, callers, 1)  # warms up
    runs = []
    for number in range(rounds):
        for contender in (relay, alone) if number % 2 == 0 else (alone, relay):
            callers.write_text(f"{pair(stage.site)} - -\n" * 2)  # a token lives for 15 minutes
            runs.append(load_with(contender, "GET", PATH, callers, seconds))
    print_figures(runs)
    through, direct = ([run for run in runs if run["name"] == name] for name in ("relay", "nginx alone"))
    # The relay adds a hop and a question to the database.
    budgets.at_least("GET, requests per second: with the relay / without", of_each("rate", through, direct), 0.8)
    budgets.at_most("GET, median latency: with the relay / without", of_each("p50", through, direct), 1.4)
    budgets.at_most("relay's CPU for each request", [run["cpu"] for run in through], 120, "{:.0f} µs")
    before, after = hold(stage, program)
    budgets.at_most(f"relay's memory with {OPEN} web sockets open", [after], 64, "{:.1f} MB", f" (before {before:.1f})")
    return (f"{rounds} rounds of {seconds} s each, in turn, {CONNECTIONS} connections of wrk; in both, nginx asks the responder about "
            "each request; the agent is an nginx that answers two bytes")


def of_each(figure, numerators, denominators):
    return ratios(*([run[figure] for run in runs] for runs in (numerators, denominators)))


def print_figures(runs):
    rows = []
    for name in ("relay", "nginx alone"):
        rate, p50, p99, cpu = ([run[figure] for run in runs if run["name"] == name] for figure in ("rate", "p50", "p99", "cpu"))
        rows.append((name, median(rate, "{:,.0f}"), median([v / 1000 for v in p50]), median([v / 1000 for v in p99], "{:.1f}"),
                     median(cpu, "{:.0f}")))
    print_table((" GET of a paired phone", "requests/s", "p50 ms", "p99 ms", "relay's CPU µs/request"), *rows)


def start_agent(stage):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration = stage.directory / "agent.conf"
    configuration.write_text(AGENT.replace("DIRECTORY", str(stage.directory)).replace("PORT", str(port)))
    process = stage.start("agent", ["nginx", "-c", configuration, "-e", stage.directory / "agent.log", "-g", "daemon off;"], None)
    stage.await_socket(("127.0.0.1", port), process)
    return f"127.0.0.1:{port}"


def pair(site):
    """Pairs a phone and returns its access token."""
    def ask(method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise SystemExit(f"error: {method} {path} answers {response.status} {text}")
        return json.loads(text)

    token = ask("GET", "/api/pair/info")["token"]
    return ask("POST", "/api/auth/exchange", {"pairing_token": token})["access_token"]


# Open WebSockets ------------------------------------------------------------------------------------------------------


class Echo(socketserver.StreamRequestHandler):
    """Switches protocols, and echoes the input."""

    def handle(self):
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while part := self.rfile.read1(65_536):
            self.wfile.write(part)


class Agent(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = OPEN


def hold(stage, program):
    """MB of a relay: before, and while the sockets are open and have all been used."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most), most))
    with Agent(("127.0.0.1", 0), Echo) as agent:
        threading.Thread(target=agent.serve_forever, daemon=True).start()
        relay = stage.relay("holding", program, f"127.0.0.1:{agent.server_address[1]}")
        before, token = memory(relay.pids(), "VmRSS"), pair(stage.site)
        wires = [web_socket(relay.port, token) for _ in range(OPEN)]
        for wire in wires:
            echo(wire, b"x" * 4000)
        after = memory(relay.pids(), "VmRSS")
        for wire in wires:
            wire.close()
        agent.shutdown()
    return before, after


def web_socket(port, token):
    wire = socket.create_connection(("127.0.0.1", port), timeout=30)
    wire.sendall(f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 f"Authorization: Bearer {token}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = wire.recv(1)
        if not byte:
            raise SystemExit(f"error: a web socket was answered {head!r}")
        head += byte
    if not head.startswith(b"HTTP/1.1 101 "):
        raise SystemExit(f"error: a web socket was answered {head!r}")
    return wire


def echo(wire, data):
    wire.sendall(data)
    left = len(data)
    while left:
        part = wire.recv(left)
        if not part:
            raise SystemExit("error: a web socket has ended")
        left -= len(part)
