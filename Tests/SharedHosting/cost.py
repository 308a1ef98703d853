"""The cost of CGI: the same responder behind the same Apache, started for each request, and with FastCGI."""

import os
import re
import shlex
import statistics
import subprocess
import time

from host import DATABASE, NAME, PASSWORD  # first, because it extends the import path

from node import wait
from place import Site
from programs import Program

PATH = "/health"  # queries the database, and has no limit
STARTS = 30


def main(host, rounds, seconds):
    site = Site(host)
    set_up(site)
    fast = start_fastcgi(site)
    host.start_apache(
        f'Listen 127.0.0.1:{host.fast_port}\n<VirtualHost 127.0.0.1:{host.fast_port}>\n  SSLEngine on\n'
        f'  SSLCertificateFile {host.authority}\n  SSLCertificateKeyFile {host.folder}/key.pem\n'
        f'  ProxyPass "/" "unix:{fast.path}|fcgi://switchboard/"\n</VirtualHost>\n')
    ways = {"CGI": host.port, "FastCGI": host.fast_port}
    for port in ways.values():
        wait(f"port {port}", lambda: load(port, 4, 1)[0] > 0)
    found = {(name, connections): [] for connections in (1, 4) for name in ways}
    for _ in range(rounds):
        for name, connections in found:
            found[name, connections].append(load(ways[name], connections, seconds))
    report(found, [took(answer, site) for _ in range(STARTS)], [took(idle_pass, site) for _ in range(STARTS)])


def set_up(site):
    host = site.host
    host.run("tar -xzf switchboard-shared.tar.gz")
    (host.home / "right").write_text(PASSWORD)
    site.setup("--url", f"https://{NAME}", "--database", DATABASE, "--account", "ann_owner", "--mail-command", "none",
               "--database-server", host.database.socket, "--database-password-file", host.home / "right")


def start_fastcgi(site):
    """The responder with the same environment and user, behind a socket."""
    host = site.host
    script = (f'site={shlex.quote(str(site.folder))}; . "$site/share/site.sh"; enter_environment responder; '
              'exec "$site/bin/switchboard-responder"')
    program = Program(host.folder, "responder", host.argv(script), dict(os.environ))
    os.chown(program.path, host.user, host.user)
    host.programs.append(program)
    return program


def load(port, connections, seconds):
    """Requests per second, and their median time in milliseconds."""
    shown = subprocess.run(
        ["wrk", "--latency", "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "-H", f"Host: {NAME}",
         f"https://127.0.0.1:{port}{PATH}"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "Non-2xx" not in shown and "Socket errors" not in shown, shown
    rate = float(re.search(r"Requests/sec: *([0-9.]+)", shown).group(1))
    value, unit = re.search(r"50% *([0-9.]+)(us|ms|s)$", shown, re.MULTILINE).groups()
    return rate, float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def took(action, site):
    """The milliseconds of `action`."""
    began = time.monotonic()
    action(site)
    return 1000 * (time.monotonic() - began)


def answer(site):
    """The CGI program without a web server."""
    environment = {"REQUEST_METHOD": "GET", "REQUEST_URI": PATH, "REMOTE_ADDR": "192.0.2.1", "SERVER_PROTOCOL": "HTTP/1.1"}
    argv = ["setpriv", f"--reuid={site.host.user}", f"--regid={site.host.user}", "--clear-groups",
            site.host.web / "switchboard.cgi"]
    shown = subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment).stdout
    assert b'"status":' in shown, shown


def idle_pass(site):
    """Cron's command when there is nothing to do."""
    site.host.run("switchboard/bin/switchboard run")


def spread(values, form):
    low, middle, high = (format(value, form) for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low}–{high})"


def report(found, starts, passes):
    print("\n| `GET /health` | CGI | FastCGI | CGI against FastCGI |\n|---|---|---|---|")
    for name, connections, index, form in (
            ("requests a second, 4 at once", 4, 0, ",.0f"), ("requests a second, one after the other", 1, 0, ",.0f"),
            ("milliseconds of one, one after the other", 1, 1, ".1f"), ("milliseconds of one, 4 at once", 4, 1, ".1f")):
        slow, fast = ([run[index] for run in found[way, connections]] for way in ("CGI", "FastCGI"))
        ratios = [one / other for one, other in zip(slow, fast)]
        print(f"| {name} | {spread(slow, form)} | {spread(fast, form)} | {spread(ratios, '.3f' if index == 0 else '.1f')} |")
    print(f"\nFrom the start of the program to its answer, without a web server: {spread(starts, '.1f')} ms. "
          f"A pass with nothing to do: {spread(passes, '.0f')} ms. {os.cpu_count()} processors, shared with Apache, MariaDB "
          f"and the load; load average {os.getloadavg()[0]:.1f}.")
