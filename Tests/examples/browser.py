#!/usr/bin/python3
"""The example Events in a real browser: what is said is shown once, also after its server died, or how much was missed.

    Tests/examples/browser.py SERVERS COMMAND

SERVERS is the folder of the built package, and COMMAND the one with the command `tidings`. Needs Debian's packages
chromium and chromium-driver; without them, the status is 77. The browser is driven by WebDriver.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".ci"))
from program import Program

LIMIT = 60  # seconds: how long the test waits for one event
SLOTS = 256
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name for a reference to an element


class Browser:
    def __init__(self, folder):
        self.driver = Program("chromedriver", "--port=0", HOME=folder)
        self.port = self.driver.says("was started successfully on port").rstrip(".").split()[-1]
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]}
        self.session = ""
        answer = self.ask("POST", "", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.session, self.version = "/" + answer["sessionId"], answer["capabilities"]["browserVersion"]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/session{self.session}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LIMIT) as response:
            return json.load(response)["value"]

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def shown(self):
        return self.run("return [...document.querySelectorAll('li')].map(each => each.textContent)")

    def shows(self, what):
        """Waits until a function of the shown lines is true."""
        end = time.monotonic() + LIMIT
        while not what(lines := self.shown()):
            if time.monotonic() > end:
                sys.exit(f"WRONG: the browser shows {len(lines)} lines: {lines[:4]} … {lines[-4:]}")
            time.sleep(0.05)
        return lines

    def end(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.end()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    servers, command = map(os.path.realpath, sys.argv[1:])
    if not shutil.which("chromedriver"):
        print("NOT TRIED: there is no browser; apt-get install chromium chromium-driver")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="tidings-browser-", dir="/dev/shm") as directory, \
            tempfile.TemporaryDirectory() as folder:
        environment = {"TIDINGS_DIRECTORY": directory}

        def tidings(*arguments):
            subprocess.run([f"{command}/tidings", *arguments], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL,
                           env={**os.environ, **environment})

        def post(text, count=1):
            tidings("post", "com.example.chat.said", "--center", "com.example.chat", "--json", f'{{"text":"{text}"}}',
                    "--count", str(count))

        def start(port=0):
            server = Program(f"{servers}/Events", str(port), **environment)
            return server, server.says("listening on").split(":")[-1].rstrip()

        tidings("create", "com.example.chat", "--slots", str(SLOTS))
        server, port = start()
        browser = Browser(folder)
        try:
            browser.ask("POST", "/url", {"url": f"http://127.0.0.1:{port}/"})
            browser.shows(lambda _: browser.run("return events.readyState") == 1)
            browser.ask("POST", f"/element/{browser.find('input')}/value", {"text": "So What"})
            browser.ask("POST", f"/element/{browser.find('button')}/click", {})
            browser.shows(lambda lines: lines == ["So What"])
            # The server dies. The browser connects to the next one by itself, and says what it had received.
            server.end()
            post("Giant Steps")
            post("Naima")
            server, _ = start(port)
            browser.shows(lambda lines: lines == ["So What", "Giant Steps", "Naima"])
            # More is posted than the ring has room for.
            server.end()
            post("more", SLOTS + 50)
            post("the last one")
            server, _ = start(port)
            lines = browser.shows(lambda lines: lines[-1] == "the last one")[3:]
            missed = int(lines[0].removeprefix("(").removesuffix(" missed)"))
            # A post whose process stood still in it may have used two positions.
            if missed < 50 or missed + len(lines) - 1 not in (SLOTS + 51, SLOTS + 52):
                sys.exit(f"WRONG: the browser shows {lines[0]} and {len(lines) - 1} of {SLOTS + 51} messages")
            print(f"Chromium {browser.version}: shows {len(lines) - 1} messages and {lines[0]}, of {SLOTS + 51}")
        finally:
            browser.end()
            server.end()


main()
