"""Requests of phones over TLS: the answer of the responder, compared with a file of the same length, and the cost of a
connection."""

import http.client
import re
import socket
import ssl
import subprocess

from load import CONNECTIONS
from preferences import PATH
from tables import median, print_table, ratios
from tokens import access_token

FILE = "preferences.json"
# Connections that are opened one after the other to measure what one costs.
OPENED = 1000


def measure(stage, programs, rounds, seconds, budgets):
    site = stage.site
    site.seed("devices.sql", 1)
    responder = stage.fastcgi("responder", programs / "switchboard-responder", site.environment())
    token = access_token(site, 1)
    content = ask(responder.port, token)
    (stage.directory / FILE).write_bytes(content)
    make_certificate(stage)
    edge = stage.edge(stage.directory / "responder.sock", FILE)
    loads, openings = {f"/{FILE}": [], PATH: []}, {False: [], True: []}
    for number in range(rounds):
        for path in sorted(loads, reverse=number % 2):
            loads[path].append(load(stage, edge, responder, path, token, seconds))
        for resumed in sorted(openings, reverse=number % 2):
            openings[resumed].append(open_connections(edge, resumed))
    print_table((" request over HTTP/2", "requests/s", "mean ms", "nginx CPU µs/request", "responder CPU µs/request"), *(
        (name, *(median([run[figure] for run in loads[path]], form)
                 for figure, form in (("rate", "{:,.0f}"), ("mean", "{:.2f}"), ("nginx", "{:.1f}"), ("responder", "{:.1f}"))))
        for name, path in ((f"a file of {len(content)} bytes", f"/{FILE}"), (f"GET {PATH}", PATH))))
    print_table((" connection with one request", "nginx CPU µs"), *(
        (name, median(openings[resumed], "{:.0f}")) for name, resumed in (("new TLS session", False), ("resumed TLS session", True))))
    budgets.row("requests per second over TLS: responder / file",
                median(ratios(*([run["rate"] for run in loads[path]] for path in (PATH, f"/{FILE}")))), "none", None)
    budgets.row("CPU of nginx for a connection: resumed / new", median(ratios(openings[True], openings[False])), "none", None)
    return (f"{rounds} rounds of {seconds} s each, in turn, {CONNECTIONS} connections of h2load with one request at a time; then {OPENED} "
            "connections one after the other, with TLS 1.3, ECDSA on P-256 and HTTP/1.1")


def ask(port, token):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", PATH, None, {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"error: GET {PATH} answers {response.status} {content}")
    return content


def make_certificate(stage):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", stage.directory / "tls.key", "-out", stage.directory / "tls.crt"],
                   check=True, stderr=subprocess.DEVNULL)


def load(stage, edge, responder, path, token, seconds):
    before = edge.cpu(), responder.cpu()
    run = stage.run("h2load", ["h2load", f"--duration={seconds}", f"--clients={CONNECTIONS}", "--max-concurrent-streams=1", "--threads=1",
                               f"--header=authorization: Bearer {token}", f"https://127.0.0.1:{edge.port}{path}"])
    after = edge.cpu(), responder.cpu()
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (done|succeeded|failed|errored|timeout|2xx)\b", run.output)}
    if not counts.get("done") or counts["failed"] or counts["2xx"] < counts["done"]:
        raise SystemExit(f"error: h2load was not served: {run.output}")
    mean, unit = re.search(r"time for request: +\S+ +\S+ +([\d.]+)(us|ms|s)", run.output).groups()  # after the least and the most
    nginx, handler = ((b - a) / counts["done"] * 1e6 for a, b in zip(before, after))
    return {"rate": counts["done"] / seconds, "mean": float(mean) * {"us": 0.001, "ms": 1, "s": 1000}[unit], "nginx": nginx,
            "responder": handler}


def open_connections(edge, resumed):
    """nginx's CPU for a connection with one request, in µs."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    session, begun = None, 0
    for number in range(OPENED + 1):
        if number == 1:  # the first one made the session
            begun = edge.cpu()
        with socket.create_connection(("127.0.0.1", edge.port), 10) as wire, context.wrap_socket(wire, session=session) as secure:
            secure.sendall(f"GET /{FILE} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: secure.recv(65_536), b""))
            if not answer.startswith(b"HTTP/1.1 200 ") or secure.session_reused != (session is not None):
                raise SystemExit(f"error: nginx answers {answer!r}, session reused: {secure.session_reused}")
            if resumed:
                session = secure.session
    return (edge.cpu() - begun) / OPENED * 1e6
