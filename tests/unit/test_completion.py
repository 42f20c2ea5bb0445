# SPDX-License-Identifier: Apache-2.0
"""The shells take what `reeve completion` prints, and complete with it."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
BIN = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build" / "gcc") / "bin"

# Calls what bash calls when the last word is completed, after bash broke the line into words.
BASH = """
source <(reeve completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_reeve
printf '%s\\n' "${COMPREPLY[@]}"
"""
# compdef and _describe stand for those of zsh's system of completion.
ZSH = """
compdef() { true }
_describe() { print -rl -- "${(@P)2}" }
_files() { print files }
source <(reeve completion zsh)
words=("$@") CURRENT=$#
_reeve
"""


def run(*command):
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", HOME="/nonexistent")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60,
                          env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


class CompletionTest(unittest.TestCase):
    def test_bash(self):
        def complete(*words):
            return run("bash", "-c", BASH, "bash", *words)
        self.assertEqual(complete("reeve", "orders", "h"), ["history"])
        self.assertEqual(complete("reeve", "alerts", "--output", "js"), ["json", "jsonl"])
        # bash takes '=' for a word of its own.
        self.assertEqual(complete("reeve", "alerts", "--output", "=", "js"), ["json", "jsonl"])
        self.assertEqual(complete("reeve", "alerts", "--output", "="),
                         ["table", "json", "jsonl", "yaml", "csv", "id"])
        self.assertEqual(complete("reeve", "workflow", "lint", ""), [""])  # files

    def test_zsh(self):
        def complete(*words):
            return run("zsh", "-f", "-c", ZSH, "zsh", *words)
        self.assertEqual([row.split(":")[0] for row in complete("reeve", "orders", "h")],
                         ["history"])
        self.assertEqual(complete("reeve", "workflow", "lint", ""), ["files"])

    def test_fish(self):
        def complete(line):
            return run("fish", "--no-config", "-c",
                       f"reeve completion fish | source; complete -C '{line}'")
        self.assertEqual([row.split("\t")[0] for row in complete("reeve orders h")], ["history"])
        self.assertEqual([row.split("\t")[0] for row in complete("reeve alerts --output js")],
                         ["json", "jsonl"])


if __name__ == "__main__":
    unittest.main()
