"""The time of a program from exec to its first answer."""

import os
import signal
import socket
import statistics
import struct
import time

BEGIN, END, PARAMS, STDIN = 1, 3, 4, 5


def first_answer(program, site, token, path, times=15):
    """Median milliseconds from exec to the answer to the first request on an inherited socket."""
    return statistics.median(_first_answer(program, site, token, path) for _ in range(times))


def plain_cgi(program, site, token, times=30):
    """Median milliseconds from exec to the end of a program that answers as plain CGI."""
    return statistics.median(_plain_cgi(program, site, token) for _ in range(times))


def _variables(token):
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "/api/v1/device-prefs",
        "REQUEST_URI": "/api/v1/device-prefs",
        "REMOTE_ADDR": "127.0.0.1",
        "REQUEST_ID": "0" * 32,
        "HTTP_AUTHORIZATION": f"Bearer {token}",
    }


def _first_answer(program, site, token, path):
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(str(path))
        listener.listen()
        client.settimeout(10)
        client.connect(str(path))
        client.sendall(_request(token))
        begin = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, listener.fileno(), 0)]
        pid = os.posix_spawn(program, [program], site.environment(), file_actions=actions)
        answer = b""
        # END_REQUEST is the last record, of 16 bytes.
        while len(answer) < 16 or answer[-15] != END or answer[-12:-8] != bytes([0, 8, 0, 0]):
            part = client.recv(65_536)
            if not part:
                break
            answer += part
        elapsed = time.perf_counter() - begin
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return _checked(elapsed, answer)


def _plain_cgi(program, site, token):
    reading, writing = os.pipe()
    environment = site.environment() | _variables(token) | {"GATEWAY_INTERFACE": "CGI/1.1"}
    begin = time.perf_counter()
    with open(os.devnull) as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 0), (os.POSIX_SPAWN_DUP2, writing, 1)]
        pid = os.posix_spawn(program, [program], environment, file_actions=actions)
    os.close(writing)
    with open(reading, "rb") as output:
        answer = output.read()
    os.waitpid(pid, 0)
    return _checked(time.perf_counter() - begin, answer)


def _checked(elapsed, answer):
    if b"Status: 200" not in answer or b'"version":' not in answer:
        raise SystemExit(f"error: the first answer was {answer!r}")
    return elapsed * 1000


def _request(token):
    parameters = b""
    for name, value in _variables(token).items():
        for text in (name, value):
            parameters += bytes([len(text)]) if len(text) < 128 else struct.pack(">I", len(text) | 1 << 31)
        parameters += name.encode() + value.encode()
    begin = struct.pack(">HB5x", 1, 0)
    return _record(BEGIN, begin) + _record(PARAMS, parameters) + _record(PARAMS) + _record(STDIN)


def _record(kind, content=b""):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content
