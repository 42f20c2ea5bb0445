# SPDX-License-Identifier: Apache-2.0
"""`reeve workflow schema`: editors accept and refuse what `reeve workflow lint` does."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema_rs
import yaml

sys.path.insert(0, os.path.dirname(__file__))

from test_workflow_examples import PAGES, REEVE, ROOT, blocks_of, completed  # noqa: E402

HEAD = "Name: w\nVersion: 1\n"
STEP = "Steps: [{Name: A, Agent: a}]\n"

# A value that fits each field of a step.
FIELDS = {
    "Comment": "text", "Name": "A", "After": [], "When": "input.n > 0", "Catch": [],
    "OnExhausted": "error", "TimeoutSeconds": 5, "MaxExtensionSeconds": 5, "Retry": [],
    "Compensate": {"Action": "Undo"}, "Agent": "a", "Agents": ["a", "b"], "Pivot": True,
    "Input": {"n": "${input.n}"}, "Output": "${order.id}", "Set": 1,
    "Fail": {"Error": "Declined"}, "Wait": {"Seconds": 5}, "Await": {}, "Until": "result == 1",
    "Steps": [{"Name": "B", "Agent": "b"}], "ForEach": {"Items": [1, 2]},
}
# Until needs a retrier and Await a time limit, which no schema can say.
ASKED_AGAIN = 'TimeoutSeconds: 60\nDefaults: {Retry: [{ErrorEquals: [States.NotYet]}]}\n'

# Whole files, and what stands in the place of the fields of a step.
BROKEN_FILES = (
    "Version: 1\n" + STEP, "Name: w\n" + STEP, HEAD, HEAD + "Steps: []\n", HEAD + "Steps: {}\n",
    HEAD + STEP + "Retry: []\n", HEAD + STEP + "Step: 1\n", HEAD + STEP + "TimeoutSeconds: 1s\n",
    "Name: a b\nVersion: 1\n" + STEP, "Name: ..\nVersion: 1\n" + STEP,
    "Name: " + "w" * 65 + "\nVersion: 1\n" + STEP, "Name: 1\nVersion: 1\n" + STEP,
    "Name: w\nVersion: one\n" + STEP, "Name: w\nVersion: 1.5\n" + STEP,
    HEAD + STEP + "InputShape: text\n", HEAD + STEP + "InputShape: {a: [string, number]}\n",
    HEAD + STEP + "InputShape: {a: []}\n", HEAD + STEP + "InputShape: {a: 1}\n",
    HEAD + STEP + "Defaults: []\n", HEAD + STEP + "Defaults: {Pivot: true}\n",
    HEAD + STEP + "Defaults: {Compensate: {Action: Undo}}\n",
    HEAD + "Steps: [A]\n", HEAD + "Steps: [{Agent: a}]\n",
    HEAD + "Steps: [" + "{Name: A, Agent: a}, " * 65 + "]\n",
)
BROKEN_STEPS = (
    "", "Agents: a", "Agents: []", "Agents: [a, b, c, d, e, f, g, h, i]", "Agent: [a]",
    "Agent: a, Agents: [b]", "Agent: a, Set: 1", "Set: 1, Fail: {Error: E}", "Agent: a b",
    "Agent: a, Pivot: maybe", "Agent: a, OnExhausted: stop", "Agent: a, After: {}",
    "Agent: a, Comment: 1", "Agent: a, When: [1]", "Agent: a, Compensate: {}",
    "Agent: a, Compensate: {Action: Undo, Pivot: true}", "Agent: a, Next: B",
    "Agent: a, Retry: {}", "Agent: a, Retry: [{}]", "Agent: a, Retry: [{ErrorEquals: []}]",
    "Agent: a, Retry: [{ErrorEquals: States.ALL}]",
    "Agent: a, Retry: [{ErrorEquals: [States.All]}]",
    "Agent: a, Retry: [{ErrorEquals: [States.QueryEvaluationError]}]",
    "Agent: a, Retry: [{ErrorEquals: [E], Next: $error}]",
    "Agent: a, Retry: [{ErrorEquals: [E], JitterStrategy: HALF}]",
    "Agent: a, Retry: [{ErrorEquals: [E], BackoffRate: 0.5}]",
    "Agent: a, Catch: [{ErrorEquals: [E]}]", "Agent: a, Catch: [{Next: $error}]",
    "Agent: a, Catch: [{ErrorEquals: [E], Next: Other}]",
    "Agent: a, Catch: [{ErrorEquals: [States.All], Next: $error}]",
    "Fail: {}", "Fail: E", "Fail: {Error: States.Timeout}", "Fail: {Error: a b}",
    "Fail: {Error: E, Cause: c}",
    "Await: []", "Await: {To: a}", "Await: {From: a b}", "Await: {From: [a]}",
    "Await: {Options: a}", "Await: {Options: []}", "Await: {Options: ['']}",
    "Await: {Options: [a, b, c, d, e, f, g, h, i]}",
    "Await: {}, Retry: []", "Await: {}, Wait: {Seconds: 1}", "Await: {}, Input: 1",
    "Steps: []", "Steps: {}", "Steps: [{Name: B}]", "Steps: [{Agent: b}]",
    "Steps: [" + "{Name: B, Agent: b}, " * 65 + "]",
    "Agent: a, ForEach: {Items: [1]}", "ForEach: {Items: [1]}",
    *(f"Steps: [{{Name: B, Agent: b}}], {more}" for more in (
        "Agent: a", "Retry: []", "Compensate: {Action: Undo}", "MaxExtensionSeconds: 1",
        "Until: result", "Items: [1]", "ForEach: {}", "ForEach: []", "ForEach: {Items: {}}",
        "ForEach: {Items: []}", "ForEach: {Items: [" + "1, " * 1001 + "]}",
        "ForEach: {Items: [1], MaxConcurrency: all}", "ForEach: {Items: [1], MaxConcurrency: 0}",
        "ForEach: {Items: [1], ToleratedFailureCount: none}",
        "ForEach: {Items: [1], ToleratedFailureCount: 1001}",
        "ForEach: {Items: [1], ToleratedFailureCount: 0.5}",
        "ForEach: {Items: [1], Priority: urgent}", "ForEach: {Items: [1], StopWhen: [1]}",
        "ForEach: {Items: [1], Stop: result}")),
)

BROKEN_TESTS = (
    "Cases: [{Name: x, Expect: {State: Error}}]\n", "Workflow: w.yaml\n",
    "Workflow: w.yaml\nCases: []\n", "Workflow: w.yaml\nCases: {}\n",
    "Workflow: ''\nCases: [{Name: x, Expect: {State: Error}}]\n",
    "Workflow: w.yaml\nTests: []\nCases: [{Name: x, Expect: {State: Error}}]\n",
)
BROKEN_CASES = (
    "Name: x", "Expect: {State: Error}", "Name: '', Expect: {State: Error}",
    "Name: x, Expect: {State: Fine}", "Name: x, Expect: {State: Error, Stat: 1}",
    "Name: x, Expect: {Steps: {A: Done}}", "Name: x, Expect: {Path: A}",
    "Name: x, Expect: {Attempts: {A: -1}}", "Name: x, Expect: {Refused: [1]}",
    "Name: x, Order: [], Expect: {State: Error}",
    "Name: x, Answers: {A: {Output: 1, Error: E}}, Expect: {State: Error}",
    "Name: x, Answers: {A: {Effect: none}}, Expect: {State: Error}",
    "Name: x, Answers: {A: {Error: E, Effect: some}}, Expect: {State: Error}",
    "Name: x, Answers: {A: {NoAnswer: true, Output: 1}}, Expect: {State: Error}",
    "Name: x, Answers: {A: {Error: States.Timeout}}, Expect: {State: Error}",
    "Name: x, Answers: {A: []}, Expect: {State: Error}", "Name: x, Answers: [], Expect: {Path: []}",
    "Name: x, Operator: {}, Expect: {State: Error}",
    "Name: x, Operator: [{Command: stop}], Expect: {State: Error}",
    "Name: x, Operator: [{}], Expect: {State: Error}",
    "Name: x, Operator: [{Command: cancel, Step: A}], Expect: {State: Error}",
    "Name: x, Operator: [{Command: fail, Step: A}], Expect: {State: Error}",
    "Name: x, Operator: [{Command: skip}], Expect: {State: Error}",
    "Name: x, Operator: [{Command: cancel, AtSeconds: -1}], Expect: {State: Error}",
    "Name: x, Signals: {}, Expect: {State: Error}",
    "Name: x, Signals: [{}], Expect: {State: Error}",
    "Name: x, Signals: [{Step: A, AtSeconds: -1, Choice: a}], Expect: {State: Error}",
    "Name: x, Signals: [{Step: A, Choice: a, Payload: 1}], Expect: {State: Error}",
)


def printed(*arguments):
    done = subprocess.run([REEVE, "workflow", "schema", *arguments], capture_output=True, text=True,
                          check=True, timeout=60)
    return json.loads(done.stdout)


def read(text):
    """PyYAML takes the question mark of `{card: string?}` for an indicator; YAML 1.2 does not."""
    return yaml.safe_load(re.sub(r"([: \[]|^)(\w+\?)(?=[,}\]:])", r'\1"\2"', text))


def properties_of(schema, path=""):
    """Every field of every mapping, with the way to it."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from properties_of(item, f"{path}/{index}")
    elif isinstance(schema, dict):
        for name, field in schema.get("properties", {}).items():
            yield f"{path}/{name}", field
        for name, item in schema.items():
            if name not in ("enum", "required", "properties"):
                yield from properties_of(item, f"{path}/{name}")


def beyond(schema):
    """Values just outside of a number's range."""
    whole = schema["type"] == "integer"
    if "exclusiveMinimum" in schema:
        yield schema["exclusiveMinimum"]
    else:
        yield schema["minimum"] - (1 if whole else 0.001)
    yield schema["maximum"] + 1


def within(schema):
    yield schema["minimum"] if "minimum" in schema else schema["exclusiveMinimum"] + 0.001
    yield schema["maximum"]


class WorkflowSchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = printed()
        cls.tests = printed("--tests")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "w.yaml").write_text(HEAD + STEP, encoding="utf-8")

    def errors(self, schema, text):
        return [error.message for error
                in jsonschema_rs.Draft7Validator(schema).iter_errors(read(text))]

    def refused_by_lint(self, texts, suffix=".yaml"):
        """The texts that have errors, and what they are."""
        paths = {}
        for index, text in enumerate(texts):
            path = self.folder / f"{index}{suffix}"
            path.write_text(text, encoding="utf-8")
            paths[str(path)] = text
        done = subprocess.run([REEVE, "workflow", "lint", "--output", "json", *paths],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.stderr, "")
        found = {}
        for row in json.loads(done.stdout):
            if row["severity"] == "error":
                found.setdefault(paths[row["file"]], []).append(row["message"])
        return found

    def check_broken(self, schema, texts, suffix=".yaml"):
        refused = self.refused_by_lint(texts, suffix)
        for text in texts:
            with self.subTest(text=text):
                self.assertIn(text, refused)
                self.assertNotEqual(self.errors(schema, text), [])

    def test_schemas_are_valid(self):
        for schema in (self.files, self.tests):
            self.assertEqual(schema["$schema"], "http://json-schema.org/draft-07/schema#")
            jsonschema_rs.meta.validate(schema)

    def test_every_field_is_explained(self):
        for schema in (self.files, self.tests):
            fields = list(properties_of(schema))
            self.assertGreater(len(fields), 40)
            for path, field in fields:
                self.assertRegex(field.get("description", ""), r"^\S.{10,}\S$", path)

    def test_accepts_the_files_of_the_repository(self):
        checked = 0
        for file in (path for part in ("examples", "tests/unit", "tests/fuzz/corpus/workflow")
                     for path in sorted((ROOT / part).rglob("*.yaml"))):
            text = file.read_text(encoding="utf-8")
            schema = self.tests if file.name.endswith(".test.yaml") else self.files
            checked += 1
            with self.subTest(file=file):
                self.assertEqual(self.errors(schema, text), [])
        self.assertGreaterEqual(checked, 15)

    def test_accepts_what_the_pages_show(self):
        for page, _ in PAGES:
            for block in blocks_of(page):
                with self.subTest(page=page, block=block):
                    self.assertEqual(self.errors(self.files, completed(block)), [])
        whole = [block for block in blocks_of("testing-workflows.md") if "Workflow:" in block]
        self.assertGreaterEqual(len(whole), 1)
        for block in whole:
            self.assertEqual(self.errors(self.tests, block), [])

    def test_refuses_broken_workflows_as_lint_does(self):
        self.check_broken(self.files, BROKEN_FILES)
        self.check_broken(self.files, [f"{HEAD}Steps: [{{Name: A{', ' if step else ''}{step}}}]\n"
                                       for step in BROKEN_STEPS])

    def test_refuses_broken_tests_as_lint_does(self):
        self.check_broken(self.tests, BROKEN_TESTS, ".test.yaml")
        self.check_broken(self.tests, [f"Workflow: w.yaml\nCases: [{{{case}}}]\n"
                                       for case in BROKEN_CASES], ".test.yaml")

    def test_gives_each_kind_of_step_the_fields_that_lint_does(self):
        variants = self.files["definitions"]["a-step"]["oneOf"]
        names = {name for variant in variants for name in variant["properties"]}
        self.assertEqual(sorted(names - set(FIELDS)), [], "fields without a value in this test")
        steps = []
        for mark in ("Agent", "Agents", "Set", "Fail", "Wait", "Await", "Steps"):
            for field in sorted(names - {mark}):
                steps.append({"Name": "A", mark: FIELDS[mark], field: FIELDS[field]})
        texts = [HEAD + ASKED_AGAIN + "Steps: " + json.dumps([step]) for step in steps]
        refused = self.refused_by_lint(texts)
        self.assertGreater(len(refused), 10)
        for text in texts:
            with self.subTest(text=text):
                self.assertEqual(self.errors(self.files, text) == [], text not in refused,
                                 refused.get(text))

    def test_numbers_have_the_limits_of_lint(self):
        places = {
            "": lambda name, value: {name: value},
            "Defaults": lambda name, value: {"Defaults": {name: value}},
            "Compensate-of-Defaults":
                lambda name, value: {"Defaults": {"Compensate": {name: value}}},
            "a-step": lambda name, value: {"Steps": [{"Name": "A", "Agent": "a", name: value}]},
            "Compensate-of-a-step": lambda name, value: {
                "Steps": [{"Name": "A", "Agent": "a",
                           "Compensate": {"Action": "Undo", name: value}}]},
            "Wait-of-a-step": lambda name, value: {
                "Steps": [{"Name": "A", "Wait": {"Seconds": 1, name: value}}]},
            "ForEach-of-a-step": lambda name, value: {
                "Steps": [{"Name": "A", "Steps": [{"Name": "B", "Agent": "b"}],
                           "ForEach": {"Items": [1], name: value}}]},
            "a-retrier": lambda name, value: {
                "Steps": [{"Name": "A", "Agent": "a",
                           "Retry": [{"ErrorEquals": ["E"], name: value}]}]},
        }
        good, bad = [], []
        for path, field in properties_of(self.files):
            if field.get("type") not in ("integer", "number"):
                continue
            place = path.split("/")[2] if path.startswith("/definitions/") else ""
            file = {"Name": "w", "Version": 1, "Steps": [{"Name": "A", "Agent": "a"}]}
            for texts, values in ((good, within(field)), (bad, beyond(field))):
                for value in values:
                    made = places[place](path.split("/")[-1], value)
                    texts.append(json.dumps(file | made))
        self.assertGreater(len(good), 15)
        refused = self.refused_by_lint(good + bad)
        for text in bad:
            with self.subTest(text=text):
                self.assertIn(text, refused)
                self.assertNotEqual(self.errors(self.files, text), [])
        for text in good:
            with self.subTest(text=text):
                self.assertEqual(self.errors(self.files, text), [])
                for problem in refused.get(text, []):
                    self.assertNotRegex(problem, r" must be (a number of seconds )?from ")


if __name__ == "__main__":
    unittest.main()
