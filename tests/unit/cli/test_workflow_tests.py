# SPDX-License-Identifier: Apache-2.0
"""`reeve test`: the files of the repository pass; what is printed, and exit codes."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
EXAMPLES = ROOT / "examples" / "workflows"
COOKBOOK = ROOT / "examples" / "cookbook"
FLOWS = ROOT / "tests" / "unit" / "decision" / "flows"
WORKFLOW = "Name: w\nVersion: 1\nSteps:\n  - {Name: Pay, Agent: bank}\n"
PASSES = "  - {Name: pays, Expect: {State: Processed}}\n"
FAILS = "  - {Name: declines, Answers: {Pay: {Error: Declined}}, Expect: {State: Processed}}\n"
STORY = """\
  TIME (UTC)               EVENT
  2000-01-01 00:00:00.000  order accepted: 0 lines, workflow w version 1, 1 step
  2000-01-01 00:00:00.000  order started
  2000-01-01 00:00:00.000  Pay: attempt 1 requested from agent bank, \
until 2000-01-01T00:01:00.000Z, by scheduler
"""


def run(*arguments):
    done = subprocess.run([REEVE, "test", *arguments], capture_output=True, text=True,
                          errors="surrogateescape", check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def lint(*arguments):
    done = subprocess.run([REEVE, "workflow", "lint", *arguments], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


class WorkflowTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "w.yaml").write_text(WORKFLOW, encoding="utf-8")

    def write(self, name, cases, workflow="w.yaml"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"Workflow: {workflow}\nCases:\n{cases}", encoding="utf-8")
        return path

    def test_the_files_of_the_repository_pass(self):
        code, out, err = run(EXAMPLES, COOKBOOK, FLOWS)
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"^\d+ passed, 0 failed\n$")

    def test_every_example_has_a_file_of_tests(self):
        for path in (*EXAMPLES.glob("*.yaml"), *COOKBOOK.glob("*.yaml")):
            if not path.name.endswith(".test.yaml"):
                self.assertTrue(path.with_suffix(".test.yaml").exists(), path)

    def test_prints_the_story_of_a_case_that_fails(self):
        path = self.write("w.test.yaml", PASSES + FAILS)
        code, out, err = run(path)
        self.assertEqual((code, err), (65, ""))
        self.assertTrue(out.startswith(f"FAIL {path}:4: declines\n" + STORY), out)
        self.assertTrue(out.endswith("  State\n    expected  Processed\n    actual    Compensated\n"
                                     "\n1 passed, 1 failed\n"), out)

    def test_prints_every_story_where_it_is_asked_to(self):
        path = self.write("w.test.yaml", PASSES + FAILS)
        code, out, _ = run(path, "--verbose", "--case", "pay")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith(f"PASS {path}:3: pays\n" + STORY), out)
        self.assertTrue(out.endswith("order processed\n\n1 passed, 0 failed\n"), out)

    def test_tells_whose_each_event_is_where_there_are_sub_orders(self):
        (self.folder / "w.yaml").write_text(
            "Name: w\nVersion: 1\nSteps: [{Name: Car, Steps: [{Name: Book, Agent: car}]}]\n",
            encoding="utf-8")
        path = self.write("w.test.yaml", "  - {Name: x, Expect: {State: Error}}\n")
        report = self.folder / "report.xml"
        _, out, _ = run(path, "--junit", report)
        lines = out.splitlines()
        self.assertEqual(lines[1], "  TIME (UTC)               ORDER        EVENT")
        self.assertEqual(lines[5:8], [
            f"  2000-01-01 00:00:00.000  {who:11}  {what}" for who, what in (
                ("order-1", "Car has submitted 1 sub-order"),
                ("order-1~Car", "order accepted: 0 lines, workflow w/Car version 1, 1 step"),
                ("order-1~Car", "order started"))])
        _, out, _ = run(path, "--output", "json")
        self.assertEqual([event["order_id"] for event in json.loads(out)[0]["story"]].count(
            "order-1~Car"), 5)
        # Ours, and no other document is ever read here.
        suites = xml.etree.ElementTree.parse(report).getroot()  # nosec
        self.assertIn("\nCar has submitted 1 sub-order\norder-1~Car: order accepted: 0 lines",
                      suites.find(".//failure").text)

    def test_shows_all_as_json(self):
        path = self.write("w.test.yaml", PASSES + FAILS)
        code, out, err = run(path, "--output", "json")
        self.assertEqual((code, err), (65, ""))
        first, second = json.loads(out)
        self.assertEqual((first["file"], first["line"], first["case"], first["passed"],
                          first["state"], first["differences"]),
                         (str(path), 3, "pays", True, "Processed", []))
        self.assertEqual(first["story"][1], {"time": "2000-01-01T00:00:00.000Z",
                                             "order_id": "order-1", "kind": "OrderStarted",
                                             "words": "order started"})
        self.assertEqual(second["differences"], [{"what": "State", "expected": "Processed",
                                                  "actual": "Compensated"}])

    def test_writes_junit(self):
        path = self.write("w.test.yaml", PASSES + FAILS.replace("declines", "\"declines <&> 'x'\""))
        bad = self.write("bad.test.yaml", "  - {Name: x, Expct: {State: Error}}\n")
        report = self.folder / "report.xml"
        code, out, _ = run(path, bad, self.folder / "nowhere", "--junit", report)
        self.assertEqual((code, out.splitlines()[-1]), (65, "1 passed, 3 failed"))
        # Ours, and no other document is ever read here.
        suites = xml.etree.ElementTree.parse(report).getroot()  # nosec
        self.assertEqual(suites.tag, "testsuites")
        cases = [(suite.get("name"), case.get("classname"), case.get("name"),
                  [child.tag for child in case]) for suite in suites for case in suite]
        nowhere = str(self.folder / "nowhere")
        self.assertEqual(cases, [
            (nowhere, nowhere, "can be run", ["error"]),
            (str(path), str(path), "pays", []),
            (str(path), str(path), "declines <&> 'x'", ["failure"]),
            (str(bad), str(bad), "can be run", ["error"])])
        failure = suites.find(".//failure")
        self.assertEqual(failure.get("message"), "State")
        self.assertTrue(failure.text.startswith("State\n  expected  Processed\n"
                                                "  actual    Compensated\n\norder accepted: "))
    def test_writes_junit_that_is_xml_whatever_names_are(self):
        name = os.fsdecode(b"w\xff" + "\uffff".encode() + b".test.yaml")
        path = self.write(name, FAILS.replace("declines", '"de\\e\\uFFFE\\uFFFFclines\\t\\u00e9"'))
        report = self.folder / "report.xml"
        code, _, _ = run(path, self.folder / ("\u00e9" * 120), "--junit", report)
        self.assertEqual(code, 65)
        # Ours, and no other document is ever read here.
        suites = xml.etree.ElementTree.parse(report).getroot()  # nosec
        self.assertEqual([suite.get("name") for suite in suites],
                         [str(self.folder / ("\u00e9" * 120)), str(self.folder / "w?.test.yaml")])
        self.assertEqual(suites[1][0].get("name"), "declines\u00e9")

    def test_reports_junit_that_cannot_be_written(self):
        path = self.write("w.test.yaml", PASSES)
        code, out, err = run(path, "--junit", self.folder / "none" / "report.xml")
        self.assertEqual((code, out), (70, ""))
        self.assertIn("cannot write ", err)

    def test_walks_directories_by_name(self):
        self.write("b/w.test.yaml", FAILS, "../w.yaml")
        self.write("a/w.test.yaml", FAILS, "../w.yaml")
        self.write("w.test.yaml", PASSES)
        (self.folder / "b" / "loop").symlink_to(self.folder)
        code, out, _ = run(self.folder)
        self.assertEqual(code, 65)
        self.assertEqual([line.split(":")[0] for line in out.splitlines() if "FAIL" in line],
                         [f"FAIL {self.folder}/a/w.test.yaml", f"FAIL {self.folder}/b/w.test.yaml"])
        self.assertTrue(out.endswith("\n1 passed, 2 failed\n"), out)

    def test_explains_files_that_cannot_be_run(self):
        bad = self.write("bad.test.yaml", "  - {Name: x, Expct: {State: Error}}\n")
        self.assertEqual(run(bad), (65, "0 passed, 1 failed\n",
                                    f"{bad}:3:5: error: a case has no Expect\n{bad}:3:15: error: "
                                    "Expct is an unknown field of a case: did you mean Expect?\n"))
        alone = self.write("alone.test.yaml", PASSES, "missing.yaml")
        code, out, err = run(alone)
        self.assertEqual((code, out), (65, "0 passed, 1 failed\n"))
        self.assertIn(f"{alone}:1:11: error: Workflow: ", err)
        wrong = self.write("wrong.test.yaml", PASSES, "wrong.yaml")
        (self.folder / "wrong.yaml").write_text(WORKFLOW + "Step: 1\n", encoding="utf-8")
        code, out, err = run(wrong)
        self.assertEqual((code, out), (65, "0 passed, 1 failed\n"))
        self.assertIn(f"{self.folder}/wrong.yaml:5:1: error: Step ", err)
        code, out, _ = run(bad, "--output", "json")
        self.assertEqual((code, len(json.loads(out)[0]["problems"])), (65, 2))

    def test_refuses_what_holds_no_tests(self):
        empty = self.folder / "empty"
        empty.mkdir()
        code, out, err = run(empty, self.folder / "nowhere")
        self.assertEqual((code, out), (65, "0 passed, 2 failed\n"))
        self.assertIn("has no files *.test.yaml", err)
        self.assertIn("No such file", err)
        self.assertEqual(run()[0], 64)

    def test_lint_checks_files_of_tests_without_running_them(self):
        good = self.write("good.test.yaml", FAILS)
        bad = self.write("bad.test.yaml", """\
  - {Name: x, Answers: {Pya: {}, Pay: {AfterSeconds: soon}}, Expect: {State: Eror}}
""")
        garbage = self.folder / "garbage.test.yaml"
        garbage.write_bytes(bytes(range(256)) * 16)
        self.assertEqual(lint(good), (0, f"{good}: tests of w version 1, 1 case: OK\n", ""))
        code, out, err = lint(good, bad, garbage)
        self.assertEqual((code, len(out.splitlines())), (65, 1))
        self.assertEqual(err, f"""\
{bad}:3:25: error: Pya is not a step of workflow w: did you mean Pay?
{bad}:3:54: error: AfterSeconds must be a number of seconds, not a text (soon)
{bad}:3:78: error: State "Eror" is unknown: did you mean Error?
{garbage}:1:1: error: byte 0x00 is a control character: remove it
""")
        code, out, _ = lint(bad, "--output", "json")
        self.assertEqual((code, [(row["file"], row["line"], row["column"])
                                 for row in json.loads(out)]),
                         (65, [(str(bad), 3, column) for column in (25, 54, 78)]))
        (self.folder / "w.yaml").write_text(WORKFLOW + "Step: 1\n", encoding="utf-8")
        code, out, err = lint(good)
        self.assertEqual((code, out), (65, ""))
        self.assertIn(f"{self.folder}/w.yaml:5:1: error: Step ", err)
        code, out, err = lint(self.folder / "missing.test.yaml")
        self.assertEqual((code, out, len(err.splitlines())), (65, "", 1))


if __name__ == "__main__":
    unittest.main()
