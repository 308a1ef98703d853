"""A headless Chromium with one page, driven by the DevTools protocol over a pipe."""

import base64
import io
import json
import os
import subprocess
import tempfile

from PIL import Image


class Browser:
    def __init__(self, width, height):
        self.folder = tempfile.TemporaryDirectory()
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium has no sandbox when it runs as root. It reads from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars '
             f'--no-first-run --user-data-dir="$1" --window-size={width},{height} --remote-debugging-pipe about:blank '
             f'3<&{requests} 4>&{answers} </dev/null >/dev/null 2>&1', "sh", self.folder.name],
            pass_fds=(requests, answers))
        self.received, self.last, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "DOM", "WebAuthn"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def next(self):
        while b"\0" not in self.received:
            data = os.read(self.answers, 65536)
            assert data, "the browser has ended"
            self.received += data
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.requests, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.last:
                assert "result" in answer, f"{method}: {answer}"
                return answer["result"]
            self.events.append(answer.get("method"))

    def loading(self, action):
        """Runs `action`, and waits until the next page is loaded."""
        self.events.clear()
        action()
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.next().get("method"))

    def open(self, url):
        self.loading(lambda: self.call("Page.navigate", url=url))

    def text(self, promise):
        """The text with which a JavaScript promise on the page resolves."""
        answer = self.call("Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True, userGesture=True)
        return answer["result"]["value"]

    def picture(self, path, width, height=None):
        """Writes the top of the page, or the whole page, as a PNG."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=100, deviceScaleFactor=1, mobile=False)
        # A picture before the fonts are loaded would be empty.
        self.text("document.fonts.ready.then(() => '')")
        height = height or int(self.text("Promise.resolve(String(document.documentElement.scrollHeight))"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
        # 32 colors are enough for text and lines, and keep the file small.
        picture.quantize(32).save(path, optimize=True)
