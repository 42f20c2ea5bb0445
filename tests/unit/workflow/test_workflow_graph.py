# SPDX-License-Identifier: Apache-2.0
"""`reeve workflow graph` and `diff` of files: what other programs read, and exit codes."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
SHOP = ROOT / "examples" / "workflows" / "order-fulfilment.yaml"


def reeve(*arguments):
    done = subprocess.run([REEVE, "workflow", *arguments], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


class WorkflowGraphTest(unittest.TestCase):
    def test_mistakes_name_what_is_expected(self):
        code, out, err = reeve("graph", SHOP, "--format", "svg")
        self.assertEqual((code, out), (64, ""))
        self.assertIn('"text" or "dot"', err)
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
                                                "left": "carrier", "right": "post",
                                                "warning": None}])
            other.write_text(text.replace("Agent: carrier", "Agent: carrier\n    Input: {a: 1}"),
                             encoding="utf-8")
            code, out, _ = reeve("diff", SHOP, other)
            self.assertEqual(code, 1)
            self.assertIn('  ShipOrder.Input\n-     none\n+     {"a":1}\n'
                          "      warning: the agent no longer gets outputs and lines", out)
            other.write_text("Name: w\n", encoding="utf-8")
            self.assertEqual(reeve("diff", SHOP, other)[0], 65)


if __name__ == "__main__":
    unittest.main()
