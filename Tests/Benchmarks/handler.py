"""GET /api/v1/device-prefs in a typical Python program: WSGI below gunicorn, mysqlclient. Checks the token and uses SQL like
the responder; other requests get 501. Its environment is that of the C program."""

import base64
import hmac
import json
import os
import threading
import time
from http import HTTPStatus

import MySQLdb

READ = """
  SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,
    p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,
    p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
  FROM sessions s
  JOIN devices d ON d.id = s.device_id
  JOIN device_preferences p ON p.device_id = d.id
  WHERE s.id = %s AND s.ended_at IS NULL AND s.expires_at > %s AND d.revoked_at IS NULL"""


def file_text(name):
    with open(os.environ[name], encoding="utf-8") as file:
        return file.read().strip()


def base64url(text):
    data = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=") != text:
        raise ValueError("not base64url")
    return data


KEY_ID, SECRET = file_text("SWITCHBOARD_JWT_KEYS_FILE").encode().split(b":")
KEY = base64.urlsafe_b64decode(SECRET.rstrip(b"=") + b"=" * (-len(SECRET.rstrip(b"=")) % 4))
HEADER = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"%s","typ":"JWT"}' % KEY_ID).rstrip(b"=") + b"."
ISSUER = os.environ["SWITCHBOARD_PUBLIC_URL"]
PASSWORD = file_text("SWITCHBOARD_DB_PASSWORD_FILE")
of_thread = threading.local()


def connection():
    if not hasattr(of_thread, "connection"):
        of_thread.connection = MySQLdb.connect(
            unix_socket=os.environ["SWITCHBOARD_DB_SOCKET"], user=os.environ["SWITCHBOARD_DB_USER"], password=PASSWORD,
            database=os.environ["SWITCHBOARD_DB_NAME"], charset="utf8mb4", autocommit=True)
    return of_thread.connection


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def verify(authorization, now):
    """The claims of a valid access token of this site, or None."""
    if authorization[:7].lower() != "bearer ":
        return None
    token = authorization[7:].encode()
    signed, _, signature = token.rpartition(b".")
    try:
        if len(token) > 4096 or not token.startswith(HEADER) or not hmac.compare_digest(
                hmac.digest(KEY, signed, "sha256"), base64url(signature)):
            return None
        claims = json.loads(base64url(signed[len(HEADER):]))
        valid = (claims["type"] == "access" and claims["iss"] == ISSUER and claims["aud"] == "mwsim"
                 and is_integer(claims["exp"]) and claims["exp"] > now
                 and is_integer(claims["iat"]) and claims["iat"] <= now + 60
                 and is_integer(claims["gen"]) and claims["gen"] > 0
                 and all(isinstance(claims[name], str) and claims[name] for name in ("sub", "sid", "deviceId")))
    except (KeyError, TypeError, ValueError):
        return None
    return claims if valid else None


def find(claims, now):
    cursor = connection().cursor()
    cursor.execute(READ, (claims["sid"], time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}"))
    row = cursor.fetchone()
    cursor.close()
    if row is None:
        return 401, {}
    (device, generation, confirmed, _, _, enabled, token, models, quota, updated, version, *_) = row
    if not confirmed and generation == claims["gen"]:
        return 501, {}
    return 200, {
        "push_enabled": bool(enabled), "push_token": token, "preferred_models": json.loads(models),
        "archive_cache_quota_mb": quota, "last_updated_at": updated.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device_id": device, "user_id": claims["sub"], "version": version}


def respond(environment, now):
    if environment["PATH_INFO"] != "/api/v1/device-prefs":
        return 404, {}
    if environment["REQUEST_METHOD"] != "GET" or "HTTP_X_DEVICE_CREDENTIAL" in environment:
        return 501, {}
    claims = verify(environment.get("HTTP_AUTHORIZATION", ""), now)
    return find(claims, now) if claims else (401, {})


def application(environment, start_response):
    status, members = respond(environment, time.time())
    body = json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()
    start_response(f"{status} {HTTPStatus(status).phrase}", [
        ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
        ("X-Request-Id", environment.get("HTTP_X_REQUEST_ID", "")), ("Content-Length", str(len(body)))])
    return [body]
