#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stages the pages of the site: stage.py SOURCE TARGET.

TARGET/pages gets every tracked Markdown file, and each tracked file that one of them links to, at
the places that they have in SOURCE, so that links stay as they are. A link to a folder becomes one
to its page, which lists the folder if it has none. Drawings in the language of mermaid, which needs
a program in the browser, become the pictures that are listed here."""

import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.M | re.S)
PICTURES = {"README.md": "docs/images/flow.svg"}  # of a page's first drawing


def tracked(source):
    done = subprocess.run(["git", "ls-files", "-z"], cwd=source, capture_output=True, text=True,
                          check=True)
    return set(done.stdout.split("\0")) - {""}


def title_of(path):
    return next((line[2:].strip() for line in path.read_text(encoding="utf-8").splitlines()
                 if line.startswith("# ")), path.stem)


class Stage:
    def __init__(self, source, target):
        self.source, self.pages = source, target / "pages"
        self.files = tracked(source)
        self.folders = {str(parent) for file in self.files
                        for parent in pathlib.PurePosixPath(file).parents}
        self.linked = set()

    def page_of(self, folder):
        """The page to which a link to the folder goes."""
        for name in ("README.md", "index.md"):
            if f"{folder}/{name}" in self.files:
                return f"{folder}/{name}"
        index = self.pages / folder / "index.md"
        if not index.exists():
            index.parent.mkdir(parents=True, exist_ok=True)
            pages = sorted(file for file in self.files if posixpath.dirname(file) == folder)
            rows = [f"- [{title_of(self.source / file)}]({posixpath.basename(file)})"
                    if file.endswith(".md") else f"- [{posixpath.basename(file)}]"
                    f"({posixpath.basename(file)})" for file in pages]
            index.write_text(f"# {posixpath.basename(folder).capitalize()}\n\n" +
                             "\n".join(rows) + "\n", encoding="utf-8")
            self.linked |= {file for file in pages if not file.endswith(".md")}
        return f"{folder}/index.md"

    def link(self, page, target):
        if re.match(r"[a-z]+:", target):
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if path in self.folders:
            path = self.page_of(path)
        elif path not in self.files:
            raise SystemExit(f"{page}: the link to {target} leads nowhere")
        elif not path.endswith(".md"):
            self.linked.add(path)
        return posixpath.relpath(path, posixpath.dirname(page) or ".")

    def take_page(self, page):
        text = (self.source / page).read_text(encoding="utf-8")
        if page in PICTURES:
            picture = posixpath.relpath(PICTURES[page], posixpath.dirname(page) or ".")
            text = MERMAID.sub(f"![How an order flows]({picture})", text, count=1)
        parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
        parts[::2] = [LINK.sub(lambda match: match.group(1) + self.link(page, match.group(2)) +
                               match.group(3), part) for part in parts[::2]]
        target = self.pages / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(parts), encoding="utf-8")

    def run(self):
        for page in sorted(file for file in self.files if file.endswith(".md")):
            self.take_page(page)
        self.page_of("docs/design/decisions")
        for file in sorted(self.linked):
            target = self.pages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.source / file, target)


def main(source, target):
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    Stage(source, target).run()
    here = pathlib.Path(__file__).parent
    shutil.copyfile(here / "mkdocs.yml", target / "mkdocs.yml")
    (target / "pages" / "site").mkdir()
    for name in ("site.css", "sizing.js", "versions.js"):
        shutil.copyfile(here / name, target / "pages" / "site" / name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
