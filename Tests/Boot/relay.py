"""Paired phones that reach an agent through nginx and the relay, and the end of a revoked phone's connection."""

import json
import shlex
import socket
import time

from phone import NAME
from waiting import LIMIT

RELAY, AGENT = "switchboard-relay.service", "test-agent.service"
ADDRESS = "127.0.0.1:8799"
ENVIRONMENT = "/etc/switchboard/environment"
# Switches protocols, reports the phone from X-Paired-Device in a field that passes, and echoes the input.
PROGRAM = r"""#!/bin/bash
while IFS= read -r line && [[ $line != $'\r' ]]; do
  [[ $line != X-Paired-Device:* ]] || phone=$line
done
answer='HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
printf "$answer"'Sec-WebSocket-Protocol:%s\n\r\n' "${phone#*:}"
exec cat
"""
# Makes a system call that the sandbox refuses kill the relay, instead of an error that no test sees.
STRICT = f"/run/systemd/system/{RELAY}.d/strict.conf"


class Wire:
    """An upgraded connection to the agent."""

    def __init__(self, client, token):
        plain = socket.create_connection(("127.0.0.1", 443), timeout=LIMIT)
        self.wire = client.context.wrap_socket(plain, server_hostname=NAME)
        self.wire.sendall(
            f"GET /ws HTTP/1.1\r\nHost: {NAME}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode())
        self.head = ""
        while not self.head.endswith("\r\n\r\n"):
            byte = self.wire.recv(1)
            assert byte, f"the connection ends after: {self.head}"
            self.head += byte.decode()
        assert self.head.startswith("HTTP/1.1 101 "), self.head

    def echoes(self, text):
        self.wire.sendall(text.encode())
        found = b""
        while len(found) < len(text) and (part := self.wire.recv(len(text))):
            found += part
        return found.decode() == text

    def wait_for_end(self):
        try:
            assert self.wire.recv(1) == b"", "something else comes"
        except ConnectionError:
            pass  # counts as an end too


def _pairings(site):
    return {phone["id"]: phone for phone in json.loads(site.machine.run("switchboard pairings --json"))["pairings"]}


def _pair(site):
    """Pairs a phone as in the manual. Returns its id and its access token."""
    before = _pairings(site)
    token = json.loads(site.machine.run("switchboard pair --json"))["token"]
    paired = site.client.send("POST", "/api/auth/exchange", {"pairing_token": token}).expect(200)
    (phone,) = _pairings(site).keys() - before.keys()
    return phone, paired["access_token"]


def _show(site, name):
    return site.machine.run(f"systemctl show --property {name} --value {RELAY}").strip()


def _start_agent(site):
    program = site.machine.tree / "root/agent"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    site.machine.run(
        f"cp {ENVIRONMENT} /root && echo SWITCHBOARD_AGENT={ADDRESS} >>{ENVIRONMENT}; mkdir -p {STRICT.rpartition('/')[0]}; "
        f"printf '[Service]\\nSystemCallErrorNumber=kill\\n' >{STRICT}; systemctl daemon-reload; systemctl restart {RELAY}; "
        f"systemd-run --quiet --unit {AGENT} socat TCP-LISTEN:{ADDRESS.partition(':')[2]},bind=127.0.0.1,fork,reuseaddr "
        "EXEC:/root/agent")


def relay(site):
    """A revoked phone loses its connection, another phone keeps its own, and a stopped agent gives 503."""
    try:
        _start_agent(site)
        process = _show(site, "MainPID")
        (stolen, token), (kept, other) = _pair(site), _pair(site)
        site.wait("the agent", lambda: site.client.send("GET", "/api/status", token=token)["agent"] == "up")
        name = "Ann's phone"
        site.machine.run(f"switchboard pairings rename {kept} {shlex.quote(name)}")
        assert _pairings(site)[kept]["name"] == name
        wires = {phone: Wire(site.client, access) for phone, access in ((stolen, token), (kept, other))}
        told = f'Sec-WebSocket-Protocol: id="{kept}", name="{name}"\r\n'
        assert told in wires[kept].head, wires[kept].head
        assert all(wire.echoes("ping") for wire in wires.values())
        began = time.monotonic()
        site.machine.run(f"switchboard pairings revoke {stolen}")
        revoked = time.monotonic()
        wires[stolen].wait_for_end()
        ended = time.monotonic()
        assert wires[kept].echoes("still here"), "the other phone was cut too"
        site.client.send("GET", "/api/status", token=token).expect(401)
        site.machine.run(f"systemctl stop {AGENT}")
        wires[kept].wait_for_end()
        away = site.client.send("GET", "/api/file", token=other).expect(503)
        assert "The agent does not answer." in away.text, away.text
        assert site.client.send("GET", "/api/status", token=other)["agent"] == "away"
        _check_sandbox(site, process)
        return (f"cut {ended - began:.1f} s after the command began, {max(0, ended - revoked):.1f} s after its end; "
                "the other phone stayed; a stopped agent is 503")
    finally:
        site.machine.run(f"systemctl stop {AGENT}; mv /root/environment {ENVIRONMENT}; rm {STRICT}; systemctl daemon-reload; "
                         f"systemctl restart {RELAY}", check=False)


def _check_sandbox(site, process):
    """Checks that the sandbox has refused nothing: the relay runs and logs no problem."""
    assert _show(site, "MainPID") == process and _show(site, "NRestarts") == "0", "the relay was killed"
    said = site.machine.run(f"journalctl --quiet --output cat _PID={process}")
    assert "Operation not permitted" not in said and "Permission denied" not in said, said
