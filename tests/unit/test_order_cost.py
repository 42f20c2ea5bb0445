# SPDX-License-Identifier: Apache-2.0
"""The cost of an order does not grow unnoticed: the instructions that a scheduler and a supervisor
execute for an order of three steps, and the commands that it takes.

Valgrind counts both over the broker in memory, where all is the same each time but the random seeds
of hash tables and ids of claims: six figures of one build were 331,584 to 332,109, and 365,516 to
366,250 for the order that decides, so within 0.2 %. They are of the preset `dev` with gcc.

330,000 is what an order of three steps took before workflows could decide (commit 87be6039: 328,960
and 329,125), and an order that decides nothing must not pay for it: it may take 2 % more. The
compiler and the libraries of another Debian release than bookworm have figures of their own, which
only have to be near. A change that is worth its price records the new figure here."""

import json
import os
import pathlib
import platform
import re
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["REEVE_BUILD_DIR"])
INSTRUCTIONS_PER_ORDER = 330_000
INSTRUCTIONS_PER_ORDER_THAT_DECIDES = 366_000  # a Set, and a When and an Input of each step
COMMANDS_PER_ORDER = 4.0
MAY_GROW_BY = 0.02
MAY_DIFFER_BY = 0.1  # with another release's compiler and libraries
ORDERS = (100, 300)  # what the process does once is in both


def count(orders, *workflow):
    """(instructions, records) of a run with that many orders."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         "--toggle-collect=order_cost_pass", BUILD / "tests/unit/order-cost", str(orders),
         *workflow],
        capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
    return int(found.group(1)), json.loads(done.stdout)


def is_sanitized():
    cache = (BUILD / "CMakeCache.txt").read_text()
    return re.search(r"^REEVE_SANITIZE:\w+=.", cache, re.M) is not None


def tolerance():
    release = platform.freedesktop_os_release().get("VERSION_CODENAME")
    return MAY_GROW_BY if release == "bookworm" else MAY_DIFFER_BY


class OrderCostTest(unittest.TestCase):
    def check(self, expected, *workflow):
        (few_instructions, few), (many_instructions, many) = (count(orders, *workflow)
                                                              for orders in ORDERS)
        orders = many["orders"] - few["orders"]
        instructions = (many_instructions - few_instructions) / orders
        commands = (many["commands"] - few["commands"]) / orders
        print(f"{instructions:.0f} instructions and {commands:.2f} commands per order")
        self.assertLessEqual(commands, COMMANDS_PER_ORDER * (1 + MAY_GROW_BY))
        self.assertLessEqual(instructions, expected * (1 + tolerance()))

    @unittest.skipIf(is_sanitized(), "valgrind does not run a build with sanitizers")
    def test_an_order_costs_as_much_as_it_did(self):
        self.check(INSTRUCTIONS_PER_ORDER)

    @unittest.skipIf(is_sanitized(), "valgrind does not run a build with sanitizers")
    def test_an_order_that_decides_costs_as_much_as_it_did(self):
        self.check(INSTRUCTIONS_PER_ORDER_THAT_DECIDES, "decides")


if __name__ == "__main__":
    unittest.main()
