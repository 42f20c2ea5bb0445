# SPDX-License-Identifier: Apache-2.0
"""Searches every reachable state of a model in Promela.

The model is compiled once. Its bounds come from the environment, so a case is one run. A case that
finds nothing must have searched everything: a search that is cut short is not `whole`.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

RUNS = 2  # at the same time
MEGABYTES = 950  # each
DEPTH = 100000


class Found:
    """What a search found: `error` is the assertion that failed, or None."""

    def __init__(self, output):
        error = re.search(r"^pan:1: (.*)", output, re.M)
        states = re.search(r"^ *(\S+) states, stored$", output, re.M)
        self.error = error and error.group(1)
        self.states = int(float(states.group(1))) if states else 0
        self.whole = ("errors: 0" in output and "Search not completed" not in output
                      and "depth too small" not in output and "out of memory" not in output)
        self.output = output


class Model:
    """A file in Promela whose settings come from the environment. `broken` is one of them: the
    number of the rule that does not hold. What it includes has its name and a suffix."""

    def __init__(self, path, megabytes=MEGABYTES):
        self.path = path
        self.megabytes = megabytes

    def text(self):
        parts = sorted(self.path.parent.glob(self.path.stem + "*.pml"))
        return "".join(part.read_text() for part in parts)

    def numbers(self, names):
        """The numbers of those rules."""
        found = re.findall(r"^#define ([A-Z_]+) (\d+)", self.text(), re.M)
        return {name: number for name, number in found if name in names}

    def rules_in_use(self):
        return set(re.findall(r"\bbroken [!=]= ([A-Z_]+)", self.text()))

    def broken(self, cases):
        """Those cases, with the rule that each is named after broken."""
        numbers = self.numbers(cases)
        return {name: dict(settings, broken=numbers[name]) for name, settings in cases.items()}

    def compile(self, folder):
        subprocess.run(["spin", "-a", self.path], cwd=folder, check=True, capture_output=True)
        subprocess.run(["gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DVECTORSZ=1024",
                        f"-DMEMLIM={self.megabytes}", "-o", "check", "pan.c"],
                       cwd=folder, check=True)
        return pathlib.Path(folder) / "check"

    def search(self, cases):
        """What the search of each case found, by its name."""
        with tempfile.TemporaryDirectory() as folder:
            program = self.compile(folder)
            with concurrent.futures.ThreadPoolExecutor(RUNS) as pool:
                runs = {name: pool.submit(search_once, program, settings)
                        for name, settings in cases.items()}
                return {name: run.result() for name, run in runs.items()}


def search_once(program, settings):
    """Each runs in a folder of its own, because it writes the path to an error there."""
    env = dict(os.environ, **{name: str(value) for name, value in settings.items()})
    with tempfile.TemporaryDirectory() as folder:
        return Found(subprocess.run([program, f"-m{DEPTH}", "-w22"], cwd=folder, env=env,
                                    capture_output=True, text=True, check=False).stdout)
