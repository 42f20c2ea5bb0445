# SPDX-License-Identifier: Apache-2.0
"""Expressions give what CEL gives, in the conformance cases of its specification.

Whatever CEL has and expressions do not is refused by the compiler, or ends with an error: only rows
of OTHER_VALUES give another value. A case without a reason has to pass, one with a reason must not.

    python3 tests/unit/expression/test_conformance.py --write    counts them in the decision's table
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or HERE.parents[2])
BUILD = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build/gcc")
PACKAGES = os.environ.get("REEVE_NODE_MODULES") or str(
    pathlib.Path.home() / ".cache/reeve/expression/node_modules")

PAGE = ROOT / "docs/design/decisions/0017-expressions.md"
BEGIN, END = "<!-- conformance: begin -->\n", "<!-- conformance: end -->"

TEXT = re.compile(r"""[bBrR]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'"""
                  r"""|"(?:\\.|[^"\\])*")""", re.S)

# Features that are left out, and how a case shows that it needs one: its suite, its expression
# without the contents of texts, or its values. The first that fits is the reason.
FEATURES = (
    ("two-variable macros", r"^macros2/", None, None),
    ("extensions", r"^(string|math|block|bindings|encoders|proto2)_ext/", None, None),
    ("optionals", r"^optionals/", r"\?\.|\.\?|\[\?|\{\?|,\s*\?|optional", None),
    ("protobuf", r"^(proto2|proto3|enums|wrappers)/", r"TestAllTypes|google\.protobuf",
     r"TestAllTypes|google\.protobuf|objectValue|enumValue"),
    ("uint", None, r"\d[uU]\b|\buint\b", r"uint64Value|UINT64"),
    ("bytes", None, r"\b[rR]?[bB][rR]?''|\bbytes\b", "bytesValue"),
    ("times", None, r"\b(timestamp|duration)\(", "DURATION|TIMESTAMP"),
    ("type() and dyn()", None, r"\b(type|dyn)\(", "typeValue"),
    ("raw and triple-quoted texts", None, r"\b[rR]''|'{6}", None),
    ("bool()", None, r"\bbool\(", None),
    ("regular expressions", None, r"\bmatches\(", None),
    ("NaN and infinity", None, r"0\.0/0\.0|15\.75 / 0\.0", "Infinity|NaN"),
    ("map keys that are not texts", None, r"\{(\w+|''\s*:\s*[^,]+,\s*\d+)\s*:", None),
    ("ordering of booleans", None, r"\b(true|false) (<|>)=? (true|false|x)\b", None),
    ("names in backquotes", None, "`", None),
    ("macros over maps", None, r"\{''\s*:[^{}]*\}\.(all|exists|exists_one|map|filter)\(", None),
    ("unknown names and functions",
     r"/unbound_is_runtime_error$|^parse/receiver_function_names/|/function_result_type$",
     None, None),
)
# Left out, and not shown by a pattern: the end of a path, and the reason.
CASES = {
    "eq_map_value_mixed_types": "map keys that are not texts",
    "not_gt_double": ".99",
    "short_circuit_type_left": "operands that are never bools are refused",
    "short_circuit_type_right": "operands that are never bools are refused",
}
ESCAPES = re.compile(r"""\\([^'"\\nrtu/]|u0000)""")
# What gives another value, or one instead of an error: numbers are one kind, or only as large as an
# int64 allows, and there are no containers.
OTHER_VALUES = {
    "conversions/int/double_int_min_range": "the least int64 is one",
    "integer_math/int64_math/int64_min_negate_div": "/ gives a double",
    "fp_math/fp_math/fp_overflow_positive": "a result that is not finite is an error",
    "fp_math/fp_math/fp_overflow_negative": "a result that is not finite is an error",
    "namespace/namespace/self_eval_container_lookup": "names with dots, and containers",
    "namespace/namespace/self_eval_container_lookup_unchecked": "names with dots, and containers",
}
# Only its type is asked for, which is one of protobuf, and null is evaluated.
TYPE_ONLY = "type_deductions/wrappers/wrapper_ternary_parameter_assignment"


def cases():
    done = subprocess.run(["node", HERE / "cases.js"], capture_output=True, text=True, check=True,
                          timeout=60, env={**os.environ, "NODE_PATH": PACKAGES})
    return [json.loads(line) for line in done.stdout.splitlines()]


def path_of(case):
    return f"{case['path']}/{case['name']}"


def reason_of(case):
    path = path_of(case)
    code = TEXT.sub(lambda text: re.match("[bBrR]*", text.group()).group() + "''"
                    + ("''''" if text.group().lstrip("bBrR")[:3] in ("'''", '"""') else ""),
                    case["expr"])
    values = json.dumps([case.get(key) for key in ("value", "bindings", "typeEnv", "typedResult")])
    if path in OTHER_VALUES:
        return OTHER_VALUES[path]
    if any("." in name for name in case.get("bindings", {})):
        return "names with dots, and containers"
    for reason, suite, in_code, in_values in FEATURES:
        if (suite and re.search(suite, path)) or (in_code and re.search(in_code, code)) or (
                in_values and re.search(in_values, values)):
            return reason
    if ESCAPES.search(case["expr"]):
        return "other escapes"
    return CASES.get(case["name"])


def value_of(value):
    (kind, content), = value.items()
    if kind == "nullValue":
        return None
    if kind == "int64Value":
        return int(content)
    if kind == "doubleValue":
        return float(content)
    if kind == "listValue":
        return [value_of(item) for item in content.get("values", [])]
    if kind == "mapValue":
        return {value_of(entry["key"]): value_of(entry["value"])
                for entry in content.get("entries", [])}
    if kind in ("boolValue", "stringValue"):
        return content
    raise ValueError(kind)


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return float(a) == float(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def with_input(expression, names):
    """Variables of CEL become members of `input`."""
    def outside(code):
        for name in names:
            code = re.sub(r"(?<![\w.])" + re.escape(name) + r"\b", f"input['{name}']", code)
        return code
    parts, at = [], 0
    for text in TEXT.finditer(expression):
        parts += [outside(expression[at:text.start()]), text.group()]
        at = text.end()
    return "".join(parts) + outside(expression[at:])


class Evaluator:
    """expression-cases: one answer to each expression."""

    def __enter__(self):
        self.process = subprocess.Popen([BUILD / "tests/unit/expression-cases"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(60) == 0

    def ask(self, case):
        bindings = {name: value_of(bound["value"])
                    for name, bound in case.get("bindings", {}).items()}
        names = {*bindings, *(known["name"] for known in case.get("typeEnv", []))}
        names = {name for name in names if "." not in name} - {"true", "false", "null"}
        expression = with_input(case["expr"], names)
        line = json.dumps({"expr": expression, "input": bindings}, allow_nan=False)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def passes(case, answer):
    if "evalError" in case:
        return "value" not in answer
    if case.get("checkOnly"):
        return "problem" not in answer
    expected = case.get("value") or case.get("typedResult", {}).get("result", {"boolValue": True})
    return "value" in answer and same(answer["value"], value_of(expected))


class ConformanceTest(unittest.TestCase):
    def outcome(self, evaluator, case):
        """Whether it passes, and whether it is refused or ends with an error."""
        try:
            answer = evaluator.ask(case)
        except ValueError:  # values that JSON does not have
            return False, True, "not JSON"
        try:
            return passes(case, answer), "value" not in answer, answer
        except ValueError:
            return False, "value" not in answer, answer

    def check(self, case, reason, outcome):
        passed, refused, _ = outcome
        if reason is None:
            self.assertTrue(passed)
        elif path_of(case) in OTHER_VALUES:
            self.assertFalse(passed, f"it passes: remove the reason, {reason}")
        elif path_of(case) != TYPE_ONLY:
            self.assertTrue(refused, "another value")
            # A refusal is what a case of an error asks for, whatever its reason.
            self.assertTrue(not passed or "evalError" in case or case.get("checkOnly"),
                            f"it passes: remove the reason, {reason}")

    def test_cases_of_what_is_supported_pass_and_no_others(self):
        counts = collections.Counter()
        with Evaluator() as evaluator:
            for case in cases():
                reason = reason_of(case)
                outcome = self.outcome(evaluator, case)
                counts[reason] += 1
                with self.subTest(path_of(case), expression=case["expr"], answer=outcome[2]):
                    self.check(case, reason, outcome)
        page = PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, with_table(page, counts), "run this file with --write")


def with_table(page, counts):
    """The page with what the cases are about."""
    before, rest = page.split(BEGIN)
    rows = [("all", sum(counts.values())), ("pass", counts[None])]
    rows += sorted(((reason, count) for reason, count in counts.items() if reason is not None),
                   key=lambda row: (-row[1], row[0]))
    table = "".join(f"| {reason} | {count:,} |\n" for reason, count in rows)
    return f"{before}{BEGIN}\n| cases of | number |\n|---|---|\n{table}\n{END}{rest.split(END)[1]}"


def write():
    page = PAGE.read_text(encoding="utf-8")
    counts = collections.Counter(reason_of(case) for case in cases())
    PAGE.write_text(with_table(page, counts), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
