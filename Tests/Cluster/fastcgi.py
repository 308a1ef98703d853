"""Speaks FastCGI with a responder, like a web server."""

import itertools
import json
import pathlib
import socket
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Boot"))
from phone import NAME, Answer  # noqa: E402

_BEGIN, _END, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6
_numbers = itertools.count(1)


def _record(kind, content=b""):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def _length(text):
    return bytes([len(text)]) if len(text) < 128 else struct.pack(">I", len(text) | 0x80000000)


def _pairs(params):
    pairs = ((name.encode(), value.encode()) for name, value in params.items())
    return b"".join(_length(name) + _length(value) + name + value for name, value in pairs)


def own_address():
    """An unused client address, which has reached no limit."""
    number = next(_numbers)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


class Client:
    """Sends requests to the responders behind some sockets in turn, from one address. Replaces `phone.Client`."""

    def __init__(self, sockets, address=None):
        self.sockets = itertools.cycle([sockets] if isinstance(sockets, pathlib.Path) else sockets)
        self.address = address or own_address()
        self.before_end = lambda: None  # called before the last record of a request

    def send(self, method, path, body=None, token=None, limit=30, uri=None, **fields):
        """Sends a request. A `body` is JSON; a text is a form. `uri` is the client's target if the web server itself asks."""
        kind, content = "", b""
        if isinstance(body, str):
            kind, content = "application/x-www-form-urlencoded", body.encode()
        elif body is not None:
            kind, content = "application/json", json.dumps(body).encode()
        target, _, query = path.partition("?")
        params = {
            "REQUEST_METHOD": method, "SCRIPT_NAME": target, "REQUEST_URI": uri or path, "QUERY_STRING": query,
            "CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(content) or ""),
            "REMOTE_ADDR": self.address, "REQUEST_ID": f"cluster-{next(_numbers)}", "HTTP_HOST": NAME}
        if token:
            params["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        params |= {f"HTTP_{name.upper()}": value for name, value in fields.items()}
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(limit)
            connection.connect(str(next(self.sockets)))
            connection.sendall(
                _record(_BEGIN, struct.pack(">HB5x", 1, 0)) + _record(_PARAMS, _pairs(params)) + _record(_PARAMS)
                + (_record(_STDIN, content) if content else b""))
            self.before_end()
            connection.sendall(_record(_STDIN))
            return _answer(connection)


class CGIAnswer(Answer):
    """An answer with its header fields."""

    def __init__(self, head, text):
        self.fields = dict(line.split(": ", 1) for line in head.split("\r\n") if ": " in line)
        super().__init__(int(self.fields.get("Status", "200")[:3]), text)


def _answer(connection):
    output = b""
    with connection.makefile("rb") as stream:
        while header := stream.read(8):
            _, kind, _, length, padding = struct.unpack(">BBHHBx", header)
            content = stream.read(length + padding)[:length]
            if kind == _STDOUT:
                output += content
            if kind == _END:
                head, _, text = output.partition(b"\r\n\r\n")
                return CGIAnswer(head.decode(), text.decode())
    raise ConnectionError("the responder closed the connection without an answer")
