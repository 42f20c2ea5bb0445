# SPDX-License-Identifier: Apache-2.0
"""`reeve workflow graph` and `diff` of files: what other programs read, and exit codes."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
EXAMPLES = sorted((ROOT / "examples" / "workflows").glob("*.yaml"))
SHOP = ROOT / "examples" / "workflows" / "order-fulfilment.yaml"


def reeve(*arguments):
    done = subprocess.run([REEVE, "workflow", *arguments], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


class WorkflowGraphTest(unittest.TestCase):
    def test_svg_of_each_example_is_xml_with_a_group_for_each_step(self):
        self.assertGreaterEqual(len(EXAMPLES), 3)
        for path in EXAMPLES:
            with self.subTest(path=path):
                code, svg, _ = reeve("graph", path, "--format", "svg")
                self.assertEqual(code, 0)
                root = xml.dom.minidom.parseString(svg).documentElement
                steps = [group.getAttribute("data-step")
                         for group in root.getElementsByTagName("g")
                         if "step" in group.getAttribute("class").split()]
                shown = reeve("graph", path)[1]
                self.assertGreater(len(steps), 0)
                for step in steps:
                    self.assertIn(step, shown)

    def test_mistakes_name_what_is_expected(self):
        code, out, err = reeve("graph", SHOP, "--format", "png")
        self.assertEqual((code, out), (64, ""))
        self.assertIn('"text", "dot" or "svg"', err)
        code, out, err = reeve("graph", "./missing.yaml")
        self.assertEqual((code, out), (65, ""))
        self.assertIn("./missing.yaml", err)

    def test_diff_tells_by_its_exit_code_whether_files_differ(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "other.yaml"
            text = SHOP.read_text(encoding="utf-8")
            other.write_text(text.replace("Version: 1 ", "Version: 2 ") + "# more\n",
                             encoding="utf-8")
            self.assertEqual(reeve("diff", SHOP, other), (0, "", ""))
            self.assertEqual(reeve("diff", SHOP, other, "--output", "json")[:2], (0, "[]\n"))
            other.write_text(text.replace("Agent: carrier", "Agent: post"), encoding="utf-8")
            code, out, _ = reeve("diff", SHOP, other)
            self.assertEqual(code, 1)
            self.assertIn("  ShipOrder.Agent\n-     carrier\n+     post\n", out)
            code, out, _ = reeve("diff", SHOP, other, "--output", "json")
            self.assertEqual(code, 1)
            self.assertEqual(json.loads(out), [{"step": "ShipOrder", "field": "Agent",
                                                "left": "carrier", "right": "post"}])
            other.write_text("Name: w\n", encoding="utf-8")
            self.assertEqual(reeve("diff", SHOP, other)[0], 65)


if __name__ == "__main__":
    unittest.main()
