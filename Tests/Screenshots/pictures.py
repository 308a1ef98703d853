"""Makes the pictures of README.md: pictures.py URL STATE STATUS FOLDER. Tests/Screenshots/run starts the site."""

import html
import json
import pathlib
import platform
import re
import sys
import time
import urllib.request

from browser import Browser

LIMIT = 60_000  # bytes of a picture
EMAIL = "ann@example.org"


def post(path, body, token=None):
    fields = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url + path, json.dumps(body).encode(), fields)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def mailed(pattern):
    """The matching text in the newest mail that matches `pattern`."""
    for _ in range(600):
        mails = sorted((state / "mail").glob("*.eml"), key=lambda mail: mail.stat().st_mtime_ns, reverse=True)
        for mail in mails:
            if found := re.search(pattern, mail.read_text()):
                return found[1]
        time.sleep(0.1)
    raise SystemExit(f"no mail with {pattern}")


def sign_up():
    """Makes an account with a proven address, and gives it two devices."""
    phones = [("device-1", "Ann's phone", "ios"), ("device-2", "Tablet in the kitchen", "android")]
    for device, name, platform in phones:
        post("/api/mobile/device/register", {"deviceId": device, "deviceName": name, "platform": platform})
    account = post("/api/mobile/auth/register", {
        "email": EMAIL, "name": "Ann", "deviceId": "device-1", "deviceName": phones[0][1], "platform": "ios"})
    token = mailed(r"account/confirm\?token=(\S+)")
    urllib.request.urlopen(f"{url}/account/confirm", f"token={token}&answer=yes".encode()).close()
    post("/api/mobile/auth/login", {"email": EMAIL, "deviceId": "device-2", "method": "email"})
    post("/api/mobile/auth/login/verify", {"email": EMAIL, "deviceId": "device-2", "code": mailed(r"code is (\d{6})")})
    return account["tokens"]["accessToken"]


def add_passkey(browser, token):
    browser.call("WebAuthn.addVirtualAuthenticator", options={
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True})
    browser.open(f"{url}/")
    options = post("/api/mobile/auth/passkey/register/options", {}, token)
    created = browser.text(
        "navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON("
        f"{json.dumps(options)})}}).then(created => JSON.stringify(created))")
    post("/api/mobile/auth/passkey/register/verify", {"credential": json.loads(created), "name": "Ann's key"}, token)


def sign_in(browser):
    """Signs in with the passkey that the address field offers to the browser's authenticator."""
    browser.open(f"{url}/account")
    for _ in range(200):
        if browser.text("Promise.resolve(String(!!document.getElementById('section-devices')))") == "true":
            return
        time.sleep(0.1)
    raise SystemExit("the passkey does not sign in")


def show_status(browser):
    # Replaces names of this machine and of its files.
    text = status.read_text().replace(str(state), "/var/lib/switchboard").replace(f"on {platform.node()}", "on server")
    page = f"<!DOCTYPE html><meta charset=utf-8><style>body{{margin:0;background:#171923}}pre{{margin:0;padding:16px;color:#f7fafc;" \
        f"font:13px/1.45 monospace;white-space:pre-wrap}}</style><pre>$ switchboard status\n{html.escape(text)}</pre>"
    tree = browser.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    browser.open("about:blank")
    browser.call("Page.setDocumentContent", frameId=tree, html=page)


url, state, status, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
browser = Browser(640, 800)
try:
    browser.open(f"{url}/pair")
    browser.picture(folder / "pairing.png", 560)
    add_passkey(browser, sign_up())
    sign_in(browser)
    browser.picture(folder / "account.png", 560, 1130)
    show_status(browser)
    browser.picture(folder / "status.png", 900)
finally:
    browser.close()
for picture in folder.glob("*.png"):
    size = picture.stat().st_size
    print(f"{picture.name}: {size} bytes")
    assert 1_000 < size < LIMIT, f"{picture.name} is not below {LIMIT} bytes"
