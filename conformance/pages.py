#!/usr/bin/env python3
"""Asks the pages of the laboratory in headless Chromium what they show, with pointer, finger and keys.

    pages.py [--pictures DIR] PAGE...

Every page is looked at in three widths, light and dark; what it says under the pointer is held against the data in it.
Needs chromium and chromium-driver (Debian). Exit status 1 if something is wrong.
"""

import argparse
import base64
import pathlib
import re
import sys
import time

from browser import Browser

WIDTHS = (1400, 800, 400)
# Letters smaller than this cannot be read.
LEAST_LETTERS = 9.0

RIGHT, ESCAPE = "\ue014", "\ue00c"

# What is wrong with a page as it stands there.
LOOK = """
const wide = document.documentElement, found = [];
if (wide.scrollWidth > wide.clientWidth) {
  const who = [...document.querySelectorAll("main *")].filter((e) => !e.closest(".wide, pre, svg") && e.getBoundingClientRect().right > wide.clientWidth + 1);
  found.push(`scrolls sideways, ${wide.scrollWidth} px: ${who.slice(0, 3).map((e) => e.tagName + "." + e.className)}`);
}
for (const svg of document.querySelectorAll("main svg:not(svg svg)")) {
  const box = svg.getBoundingClientRect();
  if (!box.width) continue;
  if (!svg.getAttribute("role") || !svg.getAttribute("aria-label")) found.push("a plot without role or name");
  const scale = box.width / svg.viewBox.baseVal.width;
  for (const text of svg.querySelectorAll("text")) {
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    if (size < arguments[0]) { found.push(`letters of ${size.toFixed(1)} px: ${text.textContent}`); break; }
  }
}
// Columns of text that is laid out by blanks, and tables that a narrow window stacks.
for (const pre of document.querySelectorAll("section > pre")) if (getComputedStyle(pre).whiteSpace !== "pre") found.push("a listing is wrapped");
for (const cell of document.querySelectorAll(".stack td")) {
  const box = cell.getBoundingClientRect();
  if (wide.clientWidth < 500 && box.right > wide.clientWidth) { found.push(`out of sight: ${cell.dataset.head}`); break; }
}
const ground = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number);
if ((ground[0] < 128) !== arguments[1]) found.push(`the ground is ${ground}`);
return found;
"""

# The plots of an experiment that can be seen: where they are, and their data.
CHARTS = """
return [...document.querySelectorAll("figure.plot")].filter((f) => f.querySelector("svg.chart")).map((f) => {
  const svg = [...f.querySelectorAll("svg.chart")].find((s) => s.getBoundingClientRect().width > 0);
  svg.scrollIntoView({ block: "center" });
  const box = svg.getBoundingClientRect();
  return { scale: box.width / svg.viewBox.baseVal.width, set: { ...svg.dataset },
    data: JSON.parse(f.querySelector("script").textContent) };
});
"""
CHART_BOX = """
const f = [...document.querySelectorAll("figure.plot")].filter((f) => f.querySelector("svg.chart"))[arguments[0]];
const svg = [...f.querySelectorAll("svg.chart")].find((s) => s.getBoundingClientRect().width > 0);
svg.scrollIntoView({ block: "center" });
const box = svg.getBoundingClientRect(), note = f.querySelector(".note");
const keys = [...svg.querySelectorAll(".key")].map((k) => { const b = k.querySelector("rect").getBoundingClientRect(); return [Number(k.dataset.line), b.left + b.width / 2, b.top + b.height / 2]; });
const shown = [...svg.querySelectorAll(".series")].map((s) => getComputedStyle(s).display !== "none");
return { left: box.left, top: box.top, note: getComputedStyle(note).display === "none" ? "" : note.innerText, keys, shown,
  touch: getComputedStyle(svg).touchAction };
"""
# The panels of a capture that can be seen.
PANELS = """
return [...document.querySelectorAll("svg.plot")].filter((svg) => svg.getBoundingClientRect().width > 0).map((svg) => {
  const box = svg.getBoundingClientRect(), area = svg.querySelector(".area").getBoundingClientRect(), f = svg.closest("figure");
  const note = f.querySelector(".note");
  return { group: svg.dataset.group ?? "", x: svg.dataset.x.split(" ").map(Number), top: box.top, log: svg.dataset.log === "y",
    area: [area.left, area.top, area.width, area.height], transform: svg.querySelector(".data").getAttribute("transform"),
    lens: svg.querySelectorAll(".lens path").length, note: getComputedStyle(note).display === "none" ? "" : note.innerText,
    lines: [...svg.querySelectorAll(".data path")].map((p) => [f.querySelector(`.key[data-line="${p.dataset.line}"]`).textContent.trim(), p.classList.contains("line"), getComputedStyle(p).display, p.getAttribute("d").slice(0, 200000)]) };
});
"""
SCROLL_TO = 'document.querySelectorAll("svg.plot")[arguments[0]].scrollIntoView({ block: "center" });'


def numbers(text):
    return [float(part) for part in text.split()]


class Pages:
    def __init__(self, browser, pictures):
        self.browser, self.pictures, self.page, self.wrong, self.asked = browser, pictures, "", [], 0

    def check(self, right, what):
        self.asked += 1
        if not right:
            self.wrong.append(f"{self.page}: {what}")

    def picture(self, what):
        if self.pictures:
            name = re.sub(r"\W+", "-", "-".join(pathlib.Path(self.page).with_suffix("").parts[-3:]))
            self.browser.picture(self.pictures / f"{name}-{what}.png")

    def widths(self, page):
        for width in WIDTHS:
            for dark in (False, True):
                self.browser.look(width, dark=dark)
                self.browser.open(page)
                found = self.browser.run(LOOK, LEAST_LETTERS, dark) + self.browser.complaints()
                self.check(not found, f"{width} px, {'dark' if dark else 'light'}: {found[:3]}")
                if width != 800:
                    self.picture(f"{width}-{'dark' if dark else 'light'}")

    def chart(self, index, chart):
        """Values, legend, keys and fingers of one plot of an experiment."""
        browser, data = self.browser, chart["data"]
        left, top, wide, high = numbers(chart["set"]["area"])
        (x0, x1), (y0, y1) = numbers(chart["set"]["x"]), numbers(chart["set"]["y"])
        line = next(n for n, one in enumerate(data["lines"]) if one[1])
        name, points, *kind = data["lines"][line]
        point = points[len(points) // 2]
        if kind == ["steps"]:
            # What holds there: the last step of those that are at one place.
            point = [p for p in points if p[0] <= point[0]][-1]
        here = lambda: browser.run(CHART_BOX, index)
        box, scale = here(), chart["scale"]
        at = [box["left"] + (left + (point[0] - x0) / (x1 - x0) * wide) * scale,
              box["top"] + (top + high - (point[1] - y0) / (y1 - y0) * high) * scale]
        at[1] = min(max(at[1], box["top"] + (top + 4) * scale), box["top"] + (top + high - 4) * scale)

        def value(note):
            row = next((row for row in note.splitlines() if row.startswith(name + ": ")), None)
            # "≥" is of what was not over when the measurement was.
            found = re.match(r"(?:≥ )?(-?[\d.]+(?:e[-+]\d+)?)", row[len(name) + 2:]) if row else None
            return float(found[1]) if found else None

        for pointer in ("mouse", "touch"):
            browser.point(1, 1)
            browser.click(*at, pointer) if pointer == "touch" else browser.point(*at)
            note = here()["note"]
            shown = value(note)
            # As exact as it is written: three significant digits.
            near = shown is not None and abs(shown - point[1]) <= max(abs(point[1]) * 0.006, 1e-9)
            # Where several points have this place, any of them is right.
            near = near or any(shown is not None and abs(shown - p[1]) <= abs(p[1]) * 0.006 for p in points if p[0] == point[0])
            self.check(near, f"plot {index}, {pointer}: {name} at {point} is shown as {note!r}")
            if len(point) > 2 and point[2] is not None:
                self.check(" to " in note, f"plot {index}: no interval in {note!r}")
            steps = [one[0] for one in data["lines"] if one[2:] == ["steps"] and one[1] and one[1][0][0] <= point[0]]
            missing = [name for name in steps if not any(row.startswith(name + ": ") for row in note.splitlines())]
            self.check(not missing, f"plot {index}: at {point[0]} nothing is said of {missing}: {note!r}")
            levels = [p for p in data.get("published", ["", []])[1] if len(p) == 2]
            self.check(not levels or data["published"][0] in note, f"plot {index}: no published number in {note!r}")
            if data["names"]:
                self.check(note.splitlines()[0] == data["names"][round(point[0])], f"plot {index}: {point} is not named: {note!r}")
            if pointer == "mouse" and index == 0:
                self.pictures and self.view("hover")
        self.check("pan-y" in box["touch"], "a finger cannot scroll over a plot")
        key = next(key for key in box["keys"] if key[0] == line)
        browser.click(*key[1:])
        after = here()
        self.check(not after["shown"][line] and sum(after["shown"]) == len(after["shown"]) - 1, f"plot {index}: {name} is not hidden")
        browser.point(*at)
        self.check(value(here()["note"]) is None, f"plot {index}: {name} has values though it is hidden")
        browser.click(*key[1:])
        self.check(all(here()["shown"]), f"plot {index}: {name} does not come back")
        browser.run('[...document.querySelectorAll("figure.plot svg.chart")].filter((s) => s.getBoundingClientRect().width)[arguments[0]].focus()', index)
        browser.press(RIGHT)
        self.check(here()["note"] != "", f"plot {index}: the arrow key shows nothing")
        browser.press(ESCAPE)
        self.check(here()["note"] == "", f"plot {index}: Escape leaves the values")

    def view(self, what):
        """What the window shows, with values that are shown."""
        data = self.browser.call("GET", "/screenshot")
        name = re.sub(r"\W+", "-", "-".join(pathlib.Path(self.page).with_suffix("").parts[-3:]))
        (self.pictures / f"{name}-{what}.png").write_bytes(base64.b64decode(data))

    def panels(self):
        """One time axis of several panels: crosshair, zoom, legend, keys."""
        browser = self.browser
        here = lambda: browser.run(PANELS)
        browser.run(SCROLL_TO, 0)
        panels = here()
        group = [p for p in panels if p["group"] == panels[0]["group"]]
        self.check(len(group) >= 3, f"only {len(group)} panels have one time axis")
        left, top, wide, high = panels[0]["area"]
        x, y = left + wide * 0.4, top + high * 0.5
        browser.point(x, y)
        panels = here()
        linked = [p["lens"] for p in panels if p["group"] == panels[0]["group"]]
        self.check(sum(linked) >= 3, f"the crosshair is in {sum(linked)} panels")
        note, (x0, x1) = panels[0]["note"], panels[0]["x"]
        name, _, _, path = next(line for line in panels[0]["lines"] if line[1])
        steps = [float(v) for v in re.findall(r"-?[\d.]+", path)]
        when = x0 + (round(x) - left) / wide * (x1 - x0)
        expected = [v for t, v in zip(steps[::2], steps[1::2]) if t <= when + (x1 - x0) / wide]
        row = next((row for row in note.splitlines() if row.startswith(name + ": ")), "")
        shown = float(re.search(r": (-?[\d.]+)", row)[1]) if row else None
        near = [v for t, v in zip(steps[::2], steps[1::2]) if abs(t - when) <= 2 * (x1 - x0) / wide] + expected[-1:]
        self.check(shown is not None and any(abs(shown - v) <= max(0.006 * abs(v), 0.01) for v in near), f"{name} is shown as {note!r}, not {near}")
        if self.pictures:
            self.view("hover")
        before, scrolled = [p["transform"] for p in panels], browser.run("return scrollY")
        browser.wheel(x, y, 120)
        self.check([p["transform"] for p in here()] == before, "the wheel alone zooms")
        # It scrolls smoothly.
        for _ in range(20):
            if browser.run("return scrollY") > scrolled:
                break
            time.sleep(0.1)
        self.check(browser.run("return scrollY") > scrolled, "the wheel does not scroll the page over a plot")
        browser.run(SCROLL_TO, 0)
        left, top, wide, high = here()[0]["area"]
        browser.wheel(left + wide * 0.4, top + high * 0.5, -400, ctrl=True)
        zoomed = here()
        changed = [a != b["transform"] for a, b in zip(before, zoomed) if b["group"] == zoomed[0]["group"]]
        self.check(all(changed), f"zoomed are {sum(changed)} of {len(changed)} panels with one time axis")
        if self.pictures:
            self.view("zoomed")
        browser.run('document.querySelector("svg.plot").focus()')
        browser.press("0")
        self.check([p["transform"] for p in here()] == before, "0 does not show all again")
        browser.press(RIGHT)
        self.check(here()[0]["note"] != "", "the arrow key shows nothing")
        browser.press("+")
        self.check(here()[0]["transform"] != before[0], "+ does not zoom")
        browser.press("0")
        box = browser.run('const b = document.querySelector(".key").getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]')
        browser.click(*box)
        self.check(here()[0]["lines"][0][2] == "none", "a name in the legend hides nothing")

    def ask(self, page):
        self.page = page
        self.browser.complaints()
        self.widths(page)
        for width in (1400, 400):
            self.browser.look(width)
            self.browser.open(page)
            charts = self.browser.run(CHARTS)
            for index, chart in enumerate(charts[:3]):
                self.chart(index, chart)
            if self.browser.run('return document.querySelector("svg.plot") !== null'):
                self.panels()
        self.check(not (found := self.browser.complaints()), f"{found[:3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=pathlib.Path, metavar="DIR")
    parser.add_argument("pages", nargs="+", type=pathlib.Path, metavar="PAGE")
    arguments = parser.parse_args()
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        browser.open("/dev/null")
        pages = Pages(browser, arguments.pictures)
        for page in arguments.pages:
            pages.ask(str(page.resolve()))
    for what in pages.wrong:
        print(f"wrong: {what}")
    print(f"{len(arguments.pages)} pages, {pages.asked} questions, {len(pages.wrong)} wrong answers")
    return 1 if pages.wrong or not pages.asked else 0


if __name__ == "__main__":
    sys.exit(main())
