# SPDX-License-Identifier: Apache-2.0
"""`reeve workflow eval`: values, mistakes and exit codes."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc") / "bin/reeve"
SHOP = ROOT / "examples" / "workflows" / "order-fulfilment.yaml"
BILLING = ROOT / "examples" / "cookbook" / "billing.yaml"


def evaluate(expression, *flags, file=SHOP):
    done = subprocess.run([REEVE, "workflow", "eval", file, expression, *flags],
                          capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


class WorkflowEvalTest(unittest.TestCase):
    def test_prints_the_value_as_canonical_json(self):
        self.assertEqual(evaluate("input.total > 100", "--input", '{"total": 129.50}'),
                         (0, "true\n", ""))
        self.assertEqual(evaluate("{'b': input, 'a': 'ü'}", "--input", "[1.0, 100.10]"),
                         (0, '{"a":"ü","b":[1,100.1]}\n', ""))

    def test_takes_the_input_from_a_file_or_stdin(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "input.json"
            path.write_text('{"total": 129.50}\n', encoding="utf-8")
            self.assertEqual(evaluate("input.total", "--input", path), (0, "129.5\n", ""))
            with path.open(encoding="utf-8") as file:
                done = subprocess.run(
                    [REEVE, "workflow", "eval", SHOP, "input.total", "--input", "-"],
                    capture_output=True, text=True, check=False, timeout=60, stdin=file)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "129.5\n", ""))
            path.write_text("{x}", encoding="utf-8")
            code, out, err = evaluate("1", "--input", path)
            self.assertEqual((code, out), (64, ""))
            self.assertIn("--input", err)
            code, out, err = evaluate("1", "--input", path.with_name("missing.json"))
            self.assertEqual(out, "")
            self.assertIn("missing.json: No such file", err)
            self.assertNotEqual(code, 0)

    def test_names_the_step_that_is_meant(self):
        _, _, err = evaluate("1", "--output", "TakePaymnt=1")
        self.assertIn("the file has no step TakePaymnt: did you mean TakePayment?", err)
        for body, meant in (("BilEach", "BillEach"), ("BillEach/Dum", "BillEach/Dun")):
            with self.subTest(body):
                code, out, err = evaluate("1", "--body", body, file=BILLING)
                self.assertEqual((code, out), (64, ""))
                self.assertIn(f"did you mean {meant}?", err)

    def test_takes_outputs_and_errors_of_steps(self):
        flags = ("--output", 'ReserveStock={"ids": [7]}', "--output", "ShipOrder=",
                 "--error", "TakePayment=CardDeclined")
        self.assertEqual(evaluate("output.ReserveStock.ids[0]", *flags), (0, "7\n", ""))
        self.assertEqual(evaluate("has(output.ShipOrder)", *flags), (0, "false\n", ""))
        self.assertEqual(evaluate("error.TakePayment.name", *flags), (0, '"CardDeclined"\n', ""))
        self.assertEqual(evaluate("output.ShipOrder", *flags),
                         (65, "", "reeve: step ShipOrder has no output: column 8 of "
                                  "output.ShipOrder\n"))

    def test_shows_the_column_of_a_mistake(self):
        code, out, err = evaluate("'ü' + outptu.A")
        self.assertEqual((code, out), (65, ""))
        self.assertEqual(err, "column 7: error: there is no name outptu: did you mean output?\n")
        code, out, err = evaluate("input.total > 100")
        self.assertEqual((code, out), (65, ""))
        self.assertEqual(err, "reeve: null has no member total: column 7 of input.total > 100\n")

    def test_evaluates_within_a_body(self):
        flags = ("--input", '{"days": 3}', "--output", 'TryAgain={"id": 7}', "--body",
                 "BillEach/Dun")
        self.assertEqual(evaluate("has(output.TryAgain) && input.days * 86400 == 259200", *flags,
                                  file=BILLING), (0, "true\n", ""))
        self.assertEqual(evaluate("output.Dun.items.exists(i, i.paid)", "--body", "BillEach",
                                  "--output", 'Dun={"items": [{"paid": true}]}', file=BILLING),
                         (0, "true\n", ""))
        code, out, err = evaluate("output.Charge", *flags, file=BILLING)
        self.assertEqual((code, out), (65, ""))
        self.assertIn("there is no step Charge", err)
        code, out, err = evaluate("input.mont", "--input", '{"month": 1}', file=BILLING)
        self.assertIn("there is no member mont: did you mean month?", err)
        for body in ("Dun", "ListDue", "BillEach/", "", "billing/BillEach", "x" * 300):
            with self.subTest(body):
                code, out, err = evaluate("1", "--body", body, file=BILLING)
                self.assertEqual((code, out), (64, ""))
                self.assertIn("the file has no such step with Steps", err)
        code, out, err = evaluate("1", "--body", "BillEach", "--output", "ListDue=1", file=BILLING)
        self.assertIn("the body has no step ListDue", err)

    def test_takes_an_expression_that_begins_with_a_dash(self):
        flags = ("--input", '{"n": 2}')
        done = subprocess.run([REEVE, "workflow", "eval", *flags, SHOP, "--", "-input.n"],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "-2\n", ""))
        code, out, err = evaluate("-input.n", *flags)
        self.assertEqual((code, out), (64, ""))
        self.assertIn("write -- before arguments that begin with a dash", err)

    def test_refuses_flags_that_make_no_sense(self):
        for flags, expected in (
            (("--input", "{x}"), "--input"),
            (("--output", "ReserveStock"), "expected STEP=JSON"),
            (("--output", "Missing=1"), "the file has no step Missing"),
            (("--output", "ReserveStock={"), "--output"),
            (("--error", "TakePayment"), "expected STEP=NAME"),
        ):
            with self.subTest(flags):
                code, out, err = evaluate("1", *flags)
                self.assertEqual((code, out), (64, ""))
                self.assertIn(expected, err)


if __name__ == "__main__":
    unittest.main()
