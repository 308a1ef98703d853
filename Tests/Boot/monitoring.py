"""The monitor page's steps for Prometheus, word for word, and the alert for each of four faults."""

import json
import pathlib

import page

PAGE = pathlib.Path(__file__).parents[2] / "Sources/Manual/monitor.md"
HEADING = "Prometheus and Grafana"
SECRET = "/etc/switchboard/secrets"
# Makes the check of the site due, and begins a pass, which runs it.
LOOK = ("mariadb switchboard -e \"UPDATE problems SET seen_at = seen_at - INTERVAL 1 HOUR WHERE name = 'site'\"; "
        "systemctl start switchboard-companion.service || true")


def _firing(site):
    """The names of the firing alerts."""
    answer = json.loads(site.machine.run("curl -s http://localhost:9090/api/v1/alerts"))
    return {alert["labels"]["alertname"] for alert in answer["data"]["alerts"] if alert["state"] == "firing"}


def _break(site, how, mend, alerts, status=()):
    """Causes a fault, waits for the alerts and the words in `status`, repairs it, and waits until no alert fires."""
    site.machine.run(how)
    try:
        site.machine.run(LOOK)
        site.wait(f"{alerts} after {how}", lambda: alerts <= _firing(site))
        shown = site.machine.run("switchboard status", check=False)
        for words in status:
            assert words in shown, f"status does not say {words}:\n{shown}"
    finally:
        site.machine.run(mend)
    site.machine.run(LOOK)
    site.wait(f"no alert after {mend}", lambda: not _firing(site))


def monitoring(site):
    """Expects a metric in Prometheus, and an alert for each fault."""
    blocks = [block for heading, block in page.blocks(PAGE) if heading == HEADING]
    assert len(blocks) == 3, f"the page has {len(blocks)} blocks"
    for block in blocks[:2]:
        site.machine.run(f"export DEBIAN_FRONTEND=noninteractive\nset -e\n{block.replace('install ', 'install -q -y ', 1)}")
    # Masks recommended packages of the exporter, which look for missing hardware.
    site.machine.run("systemctl mask nvmf-autoconnect.service openipmi.service")
    site.machine.run("systemctl start switchboard-companion.service")
    site.wait("a scraped metric", lambda: site.machine.status(f"set -e\n{blocks[2]}") == 0)
    site.wait("no alert while all is well", lambda: not _firing(site))
    _break(site, f"systemctl stop nginx; chmod 755 {SECRET}; chmod 644 {SECRET}/hmac-keys",
           f"chmod 600 {SECRET}/hmac-keys; chmod 700 {SECRET}; systemctl start nginx",
           {"SwitchboardSite", "SwitchboardSecrets"},
           ("The site does not answer requests.", "hmac-keys in /etc/switchboard/secrets"))
    _break(site, "systemctl stop switchboard-responder.socket switchboard-responder.service",
           "systemctl start switchboard-responder.socket switchboard-responder.service", {"SwitchboardSite"},
           ("The web server gets no answer from the responder: it answers 502.",))
    _break(site, "systemctl stop prometheus-node-exporter", "systemctl start prometheus-node-exporter",
           {"SwitchboardMetrics"})
    site.check()
    return "a metric scraped; an alert for nginx stopped, a secret readable, the responder dead, the exporter silent"
