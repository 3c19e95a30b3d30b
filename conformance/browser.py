"""A headless Chromium over the WebDriver protocol (https://www.w3.org/TR/webdriver2/), with Python's own library only.

Needs chromium and chromium-driver (Debian).
"""

import base64
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request


class Browser:
    """Starts with `with`; ends with it."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.rsplit("port", 1)[1].strip(" .\n")
                break
        else:
            sys.exit("chromedriver does not start")
        self.root = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        always = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": [*arguments, f"--user-data-dir={self.profile.name}"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self.root += "/" + self.call("POST", "", {"capabilities": {"alwaysMatch": always}})["sessionId"]
        return self

    def __exit__(self, *_):
        self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.read().decode()[:600]}")

    def open(self, page):
        """A file, or an address."""
        address = page if ":" in str(page) else f"file://{page}"
        self.call("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """What the script returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, width, height=900, dark=False):
        """The size of the window, and the colours that its reader likes."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.devtools("Emulation.setEmulatedMedia", features=scheme)

    def point(self, x, y, steps=(), kind="mouse"):
        """Moves the pointer to a place, then does `steps` of WebDriver's actions."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        source = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": [move, *steps]}
        self.call("POST", "/actions", {"actions": [source]})

    def click(self, x, y, kind="mouse"):
        self.point(x, y, [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}], kind)

    def drag(self, start, end, kind="mouse"):
        parts = [tuple(a + (b - a) * part for a, b in zip(start, end)) for part in (0.3, 0.7, 1.0)]
        moves = [{"type": "pointerMove", "duration": 40, "x": round(x), "y": round(y)} for x, y in parts]
        self.point(*start, [{"type": "pointerDown", "button": 0}, *moves, {"type": "pointerUp", "button": 0}], kind)

    def wheel(self, x, y, by, ctrl=False):
        where = {"x": round(x), "y": round(y), "deltaX": 0, "deltaY": by, "duration": 0}
        actions = [{"type": "wheel", "id": "wheel", "actions": [{"type": "pause"}, {"type": "scroll", **where}, {"type": "pause"}]}]
        if ctrl:
            key = [{"type": "keyDown", "value": "\ue009"}, {"type": "pause"}, {"type": "keyUp", "value": "\ue009"}]
            actions.append({"type": "key", "id": "keys", "actions": key})
        self.call("POST", "/actions", {"actions": actions})

    def press(self, *keys):
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def log(self, kind):
        """Entries since this was asked last."""
        return self.call("POST", "/se/log", {"type": kind})

    def complaints(self):
        """What the console says, and what was loaded from anywhere but files, since this was asked last."""
        found = [entry["message"] for entry in self.log("browser")]
        for entry in self.log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith(("file:", "data:")):
                    found.append(f"loads {address}")
        return [text for text in found if "favicon" not in text]

    def view(self, path):
        """What is seen of the page, as a PNG."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def picture(self, path):
        """All of the page, as a PNG."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        data = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
