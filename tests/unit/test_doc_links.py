#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link in a Markdown page leads to a file, and its anchor to a heading there."""

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
PAGES = sorted(page for page in ROOT.rglob("*.md")
               if page.relative_to(ROOT).parts[0] not in ("build", ".git"))
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """The anchors that GitHub gives to the headings of a page; repeated ones are numbered."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = 0
        while (anchor if number == 0 else f"{anchor}-{number}") in found:
            number += 1
        found.add(anchor if number == 0 else f"{anchor}-{number}")
    return found


def broken(page):
    """What is wrong with each link of a page that leads nowhere."""
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"{link}: there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{link}: there is no such heading"


class DocLinksTest(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        self.assertGreater(len(PAGES), 20)
        for page in PAGES:
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(list(broken(page)), [])


if __name__ == "__main__":
    unittest.main()
