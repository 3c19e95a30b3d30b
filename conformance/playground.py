#!/usr/bin/env python3
"""Uses the page of `tresse lab playground` in headless Chromium, over the WebDriver protocol.

    playground.py FOLDER [--pictures DIR]

FOLDER is what the command has written. Every width is looked at, light and dark; what is said about the page in
docs/playground.md is tried. Needs chromium and chromium-driver (Debian). Exit status 1 if something is wrong.
"""

import argparse
import base64
import json
import pathlib
import sys
import tempfile
import time

from browser import Browser

# A page that is slower than this on a loaded machine would not be usable.
LEAST_SPEED = 60.0


class Page:
    """What a reader does with the page."""

    def __init__(self, browser):
        self.browser = browser

    def plays(self):
        return int(self.browser.run("return document.body.dataset.played || 0"))

    def wait(self, before):
        """Until it has been played once more."""
        for _ in range(400):
            if self.plays() > before:
                return
            time.sleep(0.05)
        sys.exit("playground.py: nothing is played: " + str(self.error()))

    def until(self, script, what):
        """Waits for what is true soon, if it is."""
        for _ in range(60):
            if self.browser.run(script):
                return
            time.sleep(0.05)
        sys.exit(f"playground.py: {what}")

    def open(self, address):
        self.browser.open("about:blank")
        self.browser.open(address)
        self.wait(0)

    def after(self, action):
        before = self.plays()
        action()
        self.wait(before)

    def error(self):
        return self.browser.run("const e = document.getElementById('error'); return e.hidden ? null : e.textContent")

    def address(self):
        return self.browser.run("return location.href")

    def numbers(self):
        return self.browser.run("return document.getElementById('numbers').innerText")

    def drawn(self):
        return self.browser.run("return document.getElementById('drawing').innerHTML")

    def count(self, selector):
        return self.browser.run("return document.querySelectorAll(arguments[0]).length", selector)

    def box(self, selector):
        script = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]"
        return self.browser.run(script, selector)

    def choose(self, name):
        script = """const p = document.getElementById('preset'); p.value = arguments[0];
                    p.dispatchEvent(new Event('change', { bubbles: true }))"""
        self.after(lambda: self.browser.run(script, name))

    def type(self, field, value):
        script = """const f = document.getElementById(arguments[0]); f.value = arguments[1];
                    f.dispatchEvent(new Event('input', { bubbles: true }))"""
        self.browser.run(script, field, str(value))

    def presets(self):
        return self.browser.run("return [...document.getElementById('preset').options].map(o => o.value).filter(Boolean)")


def check(truth, what):
    if not truth:
        sys.exit(f"playground.py: {what}")


def to_tools(page):
    page.browser.run("document.getElementById('tools').scrollIntoView({ block: 'start' })")
    time.sleep(0.3)


def drag_a_loss(page):
    """Along the timeline, then along the events themselves."""
    browser = page.browser
    to_tools(page)
    page.after(lambda: browser.run("document.getElementById('clear').click()"))
    before, lost = page.drawn(), page.count("#timeline .tick.lost")
    check(lost == 0, "something is lost though nothing was asked for")
    x, y, width, _ = page.box("#timeline")
    page.after(lambda: browser.drag((x + width * 0.3, y + 12), (x + width * 0.4, y + 12)))
    check(page.count("#timeline rect.event.loss") == 1, "a drag along the timeline makes no loss")
    check(page.count("#timeline .tick.lost") > 0, "the loss loses nothing")
    check(page.drawn() != before, "the loss does not change the diagram")
    left, top, wide, high = page.box("#timeline rect.event.loss")
    page.after(lambda: browser.drag((left + wide / 2, top + high / 2), (left + wide / 2 + 40, top + high / 2)))
    moved = page.box("#timeline rect.event.loss")
    check(abs(moved[0] - left - 40) < 4, f"the loss did not follow the pointer: {left} {moved[0]}")
    browser.run("document.querySelector('#timeline rect.event').focus()")
    page.after(lambda: browser.press("\ue012"))
    check(page.box("#timeline rect.event.loss")[0] < moved[0], "an arrow does not move the event that has the focus")
    page.after(lambda: browser.press("\ue017"))
    check(page.count("#timeline rect.event") == 0, "Delete does not remove the event")


def spike(page):
    browser = page.browser
    browser.run("document.querySelector('[data-tool=spike]').click()")
    x, y, width, _ = page.box("#timeline")
    page.after(lambda: browser.drag((x + width * 0.5, y + 12), (x + width * 0.65, y + 12)))
    check(page.count("#timeline rect.event.spike") == 1, "a drag with the tool makes no spike")
    page.after(lambda: browser.run("document.getElementById('clear').click()"))
    browser.run("document.querySelector('[data-tool=loss]').click()")


def drop_on_a_packet(page):
    """A word of the tools is dragged onto a packet, and a packet is chosen and lost by the keyboard."""
    browser = page.browser
    browser.run("document.getElementById('diagram').scrollIntoView({ block: 'start' }); window.scrollBy(0, -260)")
    time.sleep(0.3)
    find = """const hits = [...document.querySelectorAll('.hit')].filter(h => {
                  const r = h.getBoundingClientRect();
                  return r.top > 330 && r.bottom < innerHeight - 60 && h.previousSibling.classList.contains('tip')
                      && h.previousSibling.classList.contains('data') });
              const h = hits[0], r = h.getBoundingClientRect();
              return [r.x + r.width / 2, r.y + r.height / 2]"""
    target = browser.run(find)
    x, y, width, height = page.box("[data-tool=loss]")
    page.after(lambda: browser.drag((x + width / 2, y + height / 2), target))
    check(page.count("#timeline .mark.loss") == 1, "a loss that is dropped on a packet does not lose it")
    event = browser.run("return document.querySelector('#events li').textContent")
    check("with data is lost" in event, f"another event was made: {event}")
    browser.run("document.getElementById('diagram').focus({ preventScroll: true })")
    browser.press("\ue015")
    page.until("return !document.getElementById('panel').hidden", "an arrow chooses no packet")
    page.after(lambda: browser.press("l"))
    check(page.count("#timeline .mark") == 2, "the key L does not lose the chosen packet")


def share(page):
    """The address that is copied tells the same story in another window."""
    browser = page.browser
    page.type("rate", 700)
    page.type("loss-there", 4)
    page.type("overrides-b", "rto.min_ms = 400")
    page.after(lambda: page.type("seed", 5))
    address, numbers, drawn = page.address(), page.numbers(), page.drawn()
    browser.run("window.scrollTo(0, 0)")
    page.open(address)
    check(page.numbers() == numbers, "the address tells another story")
    check(browser.run("return document.getElementById('overrides-b').value") == "rto.min_ms = 400", "the address forgets parameters")
    page.after(lambda: page.type("seed", 6))
    check(page.numbers() != numbers, "another seed tells the same story")
    check(drawn != "", "nothing was drawn")


def mistakes(page):
    browser = page.browser
    for field, wrong, part in [("profile-a", "trese", "did you mean"), ("rate", -3, "the rate must be"), ("size", "", "the size of messages")]:
        right = browser.run("return document.getElementById(arguments[0]).value", field)
        page.type(field, wrong)
        page.until("return !document.getElementById('error').hidden", f"nothing is said of {field} = {wrong}")
        error = page.error()
        check(error and part in error and "\n" not in error, f"{field} = {wrong}: {error}")
        page.after(lambda: page.type(field, right))
        check(page.error() is None, "the error stays")
    base = page.address().split("#")[0]
    for fragment in ["#s=%%%", "#s=e30x", "#s=" + base64.b64encode(b'{"seconds": 1e99}').decode().rstrip("=")]:
        browser.open("about:blank")
        browser.open(base + fragment)
        for _ in range(100):
            if page.error():
                break
            time.sleep(0.1)
        check(page.error(), f"nothing is said of the address {fragment}")


def fits(page, width, name):
    # A scroll bar takes some of the width.
    wide, room = page.browser.run("const e = document.documentElement; return [e.scrollWidth, e.clientWidth]")
    check(wide <= room, f"{name}: the page is {wide} pixels wide in a window of {width}")
    small = page.browser.run("""return [...document.querySelectorAll('button, input, select')].filter(e => e.offsetParent)
        .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.id || e.textContent)""")
    check(not small, f"{name}: outside of the window: {small}")


def touch(page):
    """A finger scrolls over the diagram, and chooses a packet."""
    browser = page.browser
    browser.run("document.getElementById('diagram').scrollIntoView({ block: 'start' }); window.scrollBy(0, -260)")
    time.sleep(0.3)
    style = browser.run("return getComputedStyle(document.getElementById('diagram')).touchAction")
    check("pan-y" in style, "a finger cannot scroll over the diagram")
    target = browser.run("""const h = [...document.querySelectorAll('.hit')].find(h => {
        const r = h.getBoundingClientRect(); return r.top > 340 && r.bottom < innerHeight - 150 });
        const r = h.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]""")
    browser.drag(target, target, kind="touch")
    page.until("return !document.getElementById('panel').hidden", "a tap chooses no packet")
    browser.press("\ue00c")


def speed(page):
    """Simulated seconds per second, for each preset played for a minute."""
    slowest = None
    for name in page.presets():
        page.choose(name)
        page.type("count", "")
        page.after(lambda: page.type("seconds", 60))
        rate = float(page.browser.run("return document.body.dataset.speed"))
        print(f"{rate:9.0f} simulated seconds per second: {name}")
        slowest = rate if slowest is None else min(slowest, rate)
    check(slowest >= LEAST_SPEED, f"{slowest:.0f} simulated seconds per second, at least {LEAST_SPEED:.0f} are wanted")


def judge_logs(browser):
    for entry in browser.log("browser"):
        check(entry["level"] not in ("SEVERE", "WARNING"), f"the console says: {entry['message']}")
    for entry in browser.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            check(url.startswith(("file:", "data:", "about:", "blob:", "chrome:")), f"the page asks the network for {url}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    index = arguments.folder.resolve() / "index.html"
    check(index.is_file(), f"{index} is missing: tresse lab playground --out {arguments.folder}")
    pictures = arguments.pictures or pathlib.Path(tempfile.mkdtemp())
    pictures.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        page = Page(browser)
        for width, height in ((1400, 1000), (800, 1000), (400, 850)):
            for dark in (False, True):
                name = f"{width}-{'dark' if dark else 'light'}"
                browser.look(width, height, dark)
                page.open(index.as_uri())
                fits(page, width, name)
                browser.view(pictures / f"{name}.png")
                browser.run("document.getElementById('diagram').scrollIntoView(); window.scrollBy(0, -200)")
                time.sleep(0.4)
                browser.view(pictures / f"{name}-diagram.png")
                browser.run("window.scrollTo(0, 0)")
            touch(page)
            browser.run("window.scrollTo(0, 0)")
            drag_a_loss(page)
            spike(page)
        browser.look(1400, 1000, False)
        page.open(index.as_uri())
        page.after(lambda: browser.run("document.getElementById('clear').click()"))
        drop_on_a_packet(page)
        share(page)
        mistakes(page)
        page.open(index.as_uri())
        for name in page.presets():
            page.choose(name)
            check(page.error() is None, f"{name}: {page.error()}")
            browser.run("document.getElementById('diagram').scrollIntoView(); window.scrollBy(0, -200)")
            time.sleep(0.3)
            browser.view(pictures / f"preset-{page.presets().index(name)}.png")
            browser.run("window.scrollTo(0, 0)")
        speed(page)
        judge_logs(browser)
    print("the playground does what it says")


if __name__ == "__main__":
    main()
