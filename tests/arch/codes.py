# SPDX-License-Identifier: Apache-2.0
"""Codes of errors are written once, in base/errors.def; everything else uses their constants."""

import re

from tree import LAYERS, ROOT, blank_comments, c_files, check, code_of, line_at

HOME = "base/errors.def"
# Names of something else: states, kinds of records and statuses, a label, an error of workflows.
NAMESAKES = {
    ("cli/console/orders_get.c", "Output"), ("cli/console/orders_get.c", "Paused"),
    ("cli/export/events.c", "Undecoded"),
    ("engine/names.c", "Rejected"), ("engine/names.c", "Skipped"),
    ("engine/names.c", "Undecodable"), ("workflow/compile_policy.c", "Timeout"),
    ("workflow/compile_expressions.c", "Output"), ("workflow/diff.c", "Output"),
    ("workflow/diff_values.c", "Output"),
    ("workflow/kinds/task.c", "Output"), ("workflow/kinds/await.c", "Output"),
    ("engine/decide_signal.c", "Output"), ("kafka/embedded/groups.c", "Empty"),
}


@check
def codes_of_errors_are_constants():
    rows = (ROOT / HOME).read_text(encoding="utf-8")
    names = set(re.findall(r'^ERROR_CODE\(\w+, \w+, "(\w+)"', rows, re.M))
    for path, text in c_files(LAYERS):
        for match in re.finditer(r'"(\w+)"', blank_comments(text)):
            if match.group(1) in names and (path, match.group(1)) not in NAMESAKES:
                yield path, line_at(text, match.start()), (
                    f'"{match.group(1)}" is a code of {HOME}: use its constant')


@check
def codes_of_errors_are_not_compared_as_strings():
    for path, text in c_files(LAYERS):
        for match in re.finditer(r"\bstrn?cmp\([^;]*?\berror_(?:code_name|name_of)\(",
                                 code_of(text)):
            yield path, line_at(text, match.start()), "compare the constants of the codes"
