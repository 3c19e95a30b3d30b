#!/usr/bin/env python3
"""Follows every link of a folder of HTML pages, as far as it stays in the folder.

    links.py FOLDER

Says what leads nowhere: a file that is not there, a place in a page that no element has as its id. Exit status 1
then.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page points to, and the places in it that can be pointed to."""

    def __init__(self, text):
        super().__init__()
        self.targets = []
        self.places = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif name in ("href", "src") and value is not None:
                self.targets.append(value)


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("links.py: expected one folder of pages, made by packaging/site")
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in sorted(root.rglob("*.html"))}
    followed, broken = 0, []
    for path, page in pages.items():
        for target in page.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            # A path from the root of the site, as mdBook's page for what is not found has it.
            base = root if parts.path.startswith("/") else path.parent
            way = urllib.parse.unquote(parts.path).lstrip("/")
            to = (base / way).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            inside = to == root or root in to.parents
            if not inside or not to.exists():
                broken.append(f"{path.relative_to(root)}: {target}: no such file")
            elif to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].places:
                broken.append(f"{path.relative_to(root)}: {target}: no such place")
    for line in broken:
        print(line)
    if not pages:
        broken.append("no pages")
    print(f"{len(pages)} pages, {followed} links followed, {len(broken)} lead nowhere")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
