"""Debian's Chromium without a screen, driven through its DevTools protocol over two pipes: no port, no package, no network.

with Chromium(folder) as browser:
    page = browser.open(path)              # waits until it has loaded
    page.value("document.title")           # what an expression is
    page.press("Enter"); page.screenshot() # bytes of a PNG
"""

import base64
import collections
import json
import os
import pathlib
import select
import shutil
import subprocess

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 120  # seconds for any one answer; a machine under load is slow, a hung browser is not waited for forever

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, " ": 32}


class Chromium:
    def __init__(self, folder):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        words = [
            PROGRAM, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile", "--no-first-run", "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-extensions", "--disable-component-update", "--disable-background-networking", "--mute-audio",
            "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND",
        ]  # fmt: skip
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # Chromium's own refuses root
        # DevTools speaks on descriptors 3 and 4 of the browser.
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        with open(pathlib.Path(folder, "chromium.log"), "wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", script, "chromium", *words],
                pass_fds=(to_browser, from_browser),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last_id = 0
        self._answers = {}
        self._pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)  # to a browser on pipes, that is the end
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def _receive(self):
        """The next message; events go to their page, answers to who waits for them."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            piece = os.read(self._read, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("Chromium says nothing any more")
            self._buffer += piece
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self._answers[message["id"]] = message
        elif message.get("sessionId") in self._pages:
            self._pages[message["sessionId"]]._happened(message["method"], message["params"])

    def ask(self, method, session=None, **params):
        self._last_id += 1
        sent = self._last_id
        request = {"id": sent, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while sent not in self._answers:
            self._receive()
        answer = self._answers.pop(sent)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, **how):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        page._load(pathlib.Path(path).resolve().as_uri(), **how)
        return page


class Page:
    """One tab. `problems`: errors of the console, exceptions, what the policy refused. `requests`: addresses asked for."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.problems, self._asked, self._events = [], {}, collections.Counter()

    @property
    def requests(self):
        return list(self._asked.values())

    def ask(self, method, **params):
        return self._browser.ask(method, self._session, **params)

    def _happened(self, method, params):
        self._events[method] += 1
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("text", "") + str(params["exceptionDetails"].get("exception")))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self._asked[params["requestId"]] = params["request"]["url"]
        elif method == "Network.loadingFailed" and params.get("blockedReason"):
            self._asked.pop(params["requestId"], None)  # the policy stopped it before it left

    def _load(self, address, *, theme="light", width=1280, height=900, scripts=True, media=""):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.look(theme=theme, width=width, height=height, media=media)
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Page.navigate", url=address)
        while not self._events["Page.loadEventFired"]:
            self._browser._receive()

    def look(self, *, theme="light", width=1280, height=900, media=""):
        """Another size of the window, another theme, paper instead of a screen."""
        self.ask("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": theme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        """What the expression is; of a promise, what it brings."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression[:200]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def settled(self):
        """Waits until what was begun (a link, a change of the address) is done and drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def press(self, key, *, shift=False):
        text = {"Enter": "\r", " ": " "}.get(key)
        event = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settled()

    def screenshot(self, *, whole=False):
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))["data"])

    def _clip(self, whole):
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}

    def close(self):
        self._browser.ask("Target.closeTarget", targetId=self._target)
