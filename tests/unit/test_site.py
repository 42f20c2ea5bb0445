# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: every page is in its contents, links lead somewhere, and no page
loads anything from another host."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
FROM_ELSEWHERE = re.compile(
    r'<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')


def pages_of(nav):
    for entry in nav:
        for _, value in entry.items():
            yield from pages_of(value) if isinstance(value, list) else [value]


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = pathlib.Path(folder.name)
        for version in ("v0.1.0", "v0.2.0"):
            done = subprocess.run([ROOT / "scripts/site", "--version", version, "--to", cls.site],
                                  capture_output=True, text=True, check=False, timeout=300)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)

    def test_its_contents_have_every_page(self):
        text = (ROOT / "packaging/site/mkdocs.yml").read_text(encoding="utf-8")
        pages = set(pages_of(yaml.safe_load(text)["nav"]))
        known = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
        decisions = {page for page in known if page.startswith("docs/design/decisions/")}
        fragments = {page for page in known if page.startswith("docs/changes/")}
        self.assertEqual(known - decisions - fragments, {
            page for page in pages if page.startswith("docs/")} - {
                "docs/design/decisions/index.md"})

    def test_it_can_be_searched(self):
        index = json.loads((self.site / "v0.2.0/search/search_index.json").read_text())
        found = {entry["location"].split("#")[0] for entry in index["docs"]
                 if "idempotency key" in entry["text"]}
        self.assertIn("docs/use/remote-services.html", found)

    def test_it_names_its_versions_the_newest_first(self):
        self.assertEqual(json.loads((self.site / "versions.json").read_text()),
                         ["v0.2.0", "v0.1.0"])
        self.assertIn("url=v0.2.0/index.html", (self.site / "index.html").read_text())

    def test_pages_load_nothing_from_elsewhere(self):
        for page in (self.site / "v0.2.0").rglob("*.html"):
            self.assertEqual(FROM_ELSEWHERE.findall(page.read_text(encoding="utf-8")), [], page)

    def test_the_drawing_is_a_picture(self):
        page = (self.site / "v0.2.0/index.html").read_text(encoding="utf-8")
        self.assertIn('src="docs/images/flow.svg"', page)
        self.assertNotIn("flowchart LR", page)
        self.assertTrue((self.site / "v0.2.0/docs/images/flow.svg").exists())


if __name__ == "__main__":
    unittest.main()
