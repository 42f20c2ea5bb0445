# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page of the documentation, and compares what they print with what the page
shows: numbers, times and instance ids may differ, and so may the order of lines; a line "..." on
the page stands for any others."""

import collections
import re
import subprocess

from .waiting import wait_for

# Commands that only read, whose output may take a moment to show what happened before.
READ_ONLY = re.compile(r"reeve (orders|alerts|owners|agents)\b")
READ_SECONDS = 30

Command = collections.namedtuple("Command", "line text output")  # line: its number on the page


def commands_of(page, left_out=()):
    """The commands of the page: those of ```sh blocks but for lines that begin with one of
    `left_out`, and `    $ ` lines with their output."""
    found, lines, at = [], page.split("\n"), 0
    while at < len(lines):
        if lines[at] == "```sh":
            end = lines.index("```", at)
            block = [line for line in lines[at + 1:end] if not line.startswith(tuple(left_out))]
            found.append(Command(at + 1, "\n".join(block), None))
            at = end
        elif lines[at].startswith("    $ "):
            output = []
            for line in lines[at + 1:]:
                if line.startswith("    $ ") or (line and not line.startswith("    ")):
                    break
                output.append(line[4:])
            found.append(Command(at + 1, lines[at][6:], output))
        at += 1
    return found


def normal(line):
    """A line without what differs between two runs."""
    line = re.sub(r"\b[\w.-]*-\d+-[0-9a-f]{8}\b", "INSTANCE", line)
    line = re.sub(r"\d+(ms|s|m|h)\b", "AGE", line)
    return re.sub(r"\s+", " ", re.sub(r"\d+", "#", line)).strip()


def missing(expected, printed):
    """The expected lines that were not printed, and the printed ones that were not expected."""
    wanted = collections.Counter(normal(line) for line in expected if line.strip() != "...")
    found = collections.Counter(normal(line) for line in printed)
    lines = list((wanted - found).elements())
    if not any(line.strip() == "..." for line in expected):
        lines += list((found - wanted).elements())
    return [line for line in lines if line]


class Shell:
    """One bash that runs command after command; background processes stay its jobs."""

    END = "=== end of the command, exit code "

    def __init__(self, bash, **options):
        self.process = subprocess.Popen(
            bash, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, bufsize=1, **options)

    def run(self, text):
        """(exit code, printed lines)"""
        self.process.stdin.write(f'{text}\ncode=$?; echo; echo "{self.END}$code"\n')
        self.process.stdin.flush()
        printed = []
        for line in self.process.stdout:
            if line.startswith(self.END):
                # Drop the empty line of the marker; a command may end without a newline.
                if printed and printed[-1] == "":
                    printed.pop()
                return int(line[len(self.END):]), printed
            printed.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended at: {text}")

    def run_as_shown(self, test, command, text=None):
        """Runs a command of a page, or the text in its place, and compares what it prints with what
        the page shows; one that only reads, until it prints that. A block succeeds."""
        def is_shown():
            code, printed = self.run(text or command.text)
            if command.output is None:
                test.assertEqual(code, 0, printed)
            else:
                test.assertEqual(missing(command.output, printed), [], "\n" + "\n".join(printed))
            return True

        if READ_ONLY.search(command.text):
            wait_for(f"line {command.line}: {command.text}", is_shown, READ_SECONDS, 0.2)
        else:
            is_shown()

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
