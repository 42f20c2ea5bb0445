# SPDX-License-Identifier: Apache-2.0
"""What scripts/package made, as those have it who install it: in a bare Debian, which has neither
compiler nor libraries, the commands of the first pages do what the pages show; agents compile
against the headers; shells complete; a newer package takes the older one's place; what is removed
and purged is gone. Packages for arm64 run on an emulated processor."""

import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(ROOT / "tests" / "kafka"))
# pylint: disable=wrong-import-position
from lib import wait_for
from lib.debian import (LONG, PACKAGES, Root, emulation, host, packaged, run, the_archive,
                        the_package)
from lib.pages import commands_of

MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}
TIMEOUT_SECONDS = 3600

# In the root; $1 is the program, $2 the folder of workflows.
PROCESS_AN_ORDER = """
cd "$(mktemp -d)"
"$1" dev "$2/three-steps.yaml" --try >log 2>&1 &
for i in $(seq 6000); do ! grep -q " submitted, " log || break; sleep 0.05; done
kill %1
wait
cat log
"""
PROCESSED = r"(?m)^try-\d+ +Processed +Processed "
STOP = "kill %{}; wait %{}"

COMPLETE = {
    "bash": """
. /usr/share/bash-completion/bash_completion
_completion_loader reeve || [ $? = 124 ]
COMP_WORDS=(reeve orders h) COMP_CWORD=2
"$(complete -p reeve | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
""",
    # _describe stands for that of zsh's system of completion.
    "zsh": """
autoload -Uz compinit && compinit -u
_describe() { print -rl -- "${(@P)2}" }
words=(reeve orders h) CURRENT=3
$_comps[reeve]
""",
    "fish": "complete -C 'reeve orders h'",
}


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


class InARoot(unittest.TestCase):
    """In a bare Debian of `release`."""
    release = None

    def fresh(self, *architecture):
        """A root that knows which packages there are."""
        root = Root(self, self.release, *architecture)
        root.run("apt-get update -q", online=True)
        return root

    def package(self, name="reeve"):
        return the_package(name, self.release, host())

    # ---- the pages ----

    def begin(self, shell, command, ready):
        """A command that goes on until it is stopped."""
        self.assertEqual(shell.run(f"{command} >log 2>&1 &")[0], 0)
        seen = []

        def is_ready():
            seen[:] = shell.run("cat log; jobs")[1]
            return any(re.search(ready, line) for line in seen)

        wait_for(lambda: f"{command}: {ready}\n" + "\n".join(seen), is_ready, LONG)

    def test_the_commands_of_the_first_pages_do_what_the_pages_show(self):
        package = self.package()
        root = Root(self, self.release)
        began = time.monotonic()
        root.run("apt-get update -q", online=True)
        readme = page("README.md").split("## A two-minute start\n")[1].split("\n## ")[0]
        installation, copy, source, *commands = commands_of(readme)
        self.assertIn("scripts/setup", source.text)
        apt, dev = installation.text.splitlines()
        root.take(package)
        root.run(f"sudo() {{ \"$@\"; }}; cd /tmp; {apt}", online=True)
        shell = root.shell()
        self.addCleanup(shell.close)
        self.begin(shell, dev, PROCESSED)
        print(f"{package.name}: from a bare {self.release} to a processed order in "
              f"{time.monotonic() - began:.0f} s", flush=True)
        self.assertEqual(shell.run(copy.text), (0, []))
        self.assertGreater(len(commands), 2)
        for command in commands:
            with self.subTest(page="README.md", command=command.text):
                shell.run_as_shown(self, command)
        shell.run("kill %1; wait")

        root.install("python3-minimal", "libpython3-stdlib")
        shell = root.shell()
        self.addCleanup(shell.close)
        shell.run(copy.text)
        self.first_workflow(shell)
        shell.run("kill $(jobs -p); wait")

    def first_workflow(self, shell):
        text = page("docs/use/first-workflow.md")
        order, = re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)
        shell.run(f"cat >order.json <<'END'\n{order}END")
        self.second_version(shell, text)
        background = {"examples/services/payment.py": "Running.*payment", "reeve dev": "is ready"}
        commands = commands_of(text)
        self.assertGreater(len(commands), 12)
        for command in commands:
            with self.subTest(page="first-workflow.md", command=command.text):
                ready = [line for start, line in background.items()
                         if command.text.startswith(start) and command.output == [""]]
                if ready:
                    self.begin(shell, command.text, ready[0])
                    continue
                # "Stop `payment.py`", and later "while everything, `payment.py` included, runs".
                if command.text.startswith("sed s/tea-1/tea-3/"):
                    shell.run("kill %examples/services; wait %examples/services")
                shell.run_as_shown(self, command)
                if command.text == "reeve orders list":
                    self.begin(shell, "examples/services/payment.py 8001 /tmp/payment.sqlite",
                               "Running.*payment")

    @staticmethod
    def second_version(shell, text):
        """tea-2.yaml as the page says: another head, and a step before TakePayment."""
        head, step = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)[1:3]
        shell.run(f"head=$(cat <<'END'\n{head}END\n)\nstep=$(cat <<'END'\n{step}END\n)")
        shell.run("{ printf '%s\\n' \"$head\"; sed '1,/^TimeoutSeconds/d; /Name: TakePayment/,$d' "
                  "examples/workflows/tea.yaml; printf '%s\\n' \"$step\"; "
                  "sed -n '/Name: TakePayment/,$p' examples/workflows/tea.yaml; } >tea-2.yaml")

    # ---- the packages ----

    def test_a_package_is_installed_upgraded_removed_and_purged(self):
        package = self.package()
        root = self.fresh()
        root.install(package)
        self.assertTrue(root.has("/usr/share/man/man1/reeve-orders.1.gz"))
        self.assertTrue(root.has("/usr/lib/systemd/system/reeve-scheduler.service"))
        self.assertIn("uid=", root.run("id reeve"))

        root.run("sed -i 's/^topics.prefix .*/topics.prefix = shop/' /etc/reeve/reeve.properties\n"
                 "install -d -o reeve /var/lib/reeve/scheduler")
        with tempfile.TemporaryDirectory() as folder:
            root.install(newer(package, folder))
        self.assertIn("topics.prefix = shop",
                      root.run("reeve config --config /etc/reeve/reeve.properties"))

        root.run("apt-get remove -q reeve")
        self.assertFalse(root.has("/usr/bin/reeve"))
        self.assertFalse(root.has("/usr/share/reeve"))
        self.assertTrue(root.has("/etc/reeve/reeve.properties"))
        self.assertTrue(root.has("/var/lib/reeve/scheduler"))
        root.run("apt-get purge -q reeve")
        self.assertFalse(root.has("/etc/reeve"))
        self.assertFalse(root.has("/var/lib/reeve"))

    def test_shells_find_the_completion_and_complete_with_it(self):
        package = self.package()
        root = self.fresh()
        root.install(package, "bash-completion", "zsh", "fish")
        for shell, script in COMPLETE.items():
            with self.subTest(shell):
                words = root.run('"$1" -c "$2"', shell, script).split("\n")
                self.assertIn("history", [re.split("[\t:]", word)[0] for word in words])
                self.assertNotIn("get", [re.split("[\t:]", word)[0] for word in words])

    def test_agents_and_tasks_compile_against_the_headers(self):
        packages = [self.package(name) for name in ("reeve", "libreeve0", "libreeve-dev")]
        root = self.fresh()
        root.install(*packages, "gcc", "g++", "libc6-dev", "pkg-config")
        root.run("cp -r /usr/share/reeve examples")
        for readme, program in (("examples/agent/README.md", "tax-agent"),
                                ("examples/leader/README.md", "nightly")):
            as_c, = re.findall(r"^    (cc -o .*)$", page(readme), re.M)
            for command in (as_c, as_c.replace("cc ", "c++ -x c++ ", 1)):
                with self.subTest(command):
                    root.run(f"rm -f {program}; {command}")
                    self.assertIn("--kafka-bootstrap-servers", root.run(f"./{program} --help"))
                    # It goes on trying, and says what is missing.
                    self.assertIn("127.0.0.1:9", root.run(
                        f"./{program} --kafka-bootstrap-servers 127.0.0.1:9 --data-dir /tmp/data "
                        ">log 2>&1 & until grep 127.0.0.1:9 log; do sleep 0.05; kill -0 $!; done; "
                        "kill $!; wait $! || true"))

    def test_the_archive_runs_anywhere_without_any_package(self):
        archive = the_archive(host())
        root = Root(self, self.release)
        run("tar", "-C", root.folder / "opt", "-xf", archive)
        folder = f"/opt/{archive.name.removesuffix('.tar.xz')}"
        self.assertRegex(root.run(PROCESS_AN_ORDER, f"{folder}/bin/reeve",
                                  f"{folder}/share/workflows"), PROCESSED)
        libraries = root.run("ldd $1", f"{folder}/bin/reeve")
        self.assertIn(f"{folder}/bin/../lib/reeve/librdkafka.so.1", libraries)
        self.assertNotIn("not found", libraries)

    def test_a_package_for_arm64_runs_on_an_emulated_processor(self):
        package = the_package("reeve", self.release, "arm64")
        with emulation():
            root = self.fresh("arm64")
            root.install(package)
            self.assertEqual(root.run("uname -m").strip(), "aarch64")
            self.assertRegex(root.run("reeve --version"), r"\A(reeve )?\d+\.\d+\.\d+")
            self.assertIn("OK", root.run("reeve workflow lint /usr/share/reeve/workflows/tea.yaml"))
            for folder in ("workflows", "cookbook"):
                tested = root.run("reeve test /usr/share/reeve/$1", folder)
                self.assertRegex(tested, r"(?m)^[1-9]\d* passed, 0 failed$")
            self.assertRegex(root.run(PROCESS_AN_ORDER, "reeve", "/usr/share/reeve/workflows"),
                             PROCESSED)


class OnBookwormTest(InARoot):
    release = "bookworm"


class OnTrixieTest(InARoot):
    release = "trixie"


def newer(package, into):
    """The same package as a later revision."""
    folder = pathlib.Path(into) / "newer"
    run("dpkg-deb", "-R", package, folder)
    control = folder / "DEBIAN" / "control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1.1", control.read_text(), flags=re.M))
    return pathlib.Path(run("dpkg-deb", "-b", folder, into).split("'")[-2])


class FilesTest(unittest.TestCase):
    """All files that were made."""

    def test_programs_are_of_the_architecture_that_the_name_says(self):
        packages = packaged("reeve_*.deb")
        self.assertTrue(packages, f"none in {PACKAGES}: run scripts/package")
        for package in packages:
            with self.subTest(package=package.name), tempfile.TemporaryDirectory() as folder:
                architecture = package.stem.split("_")[-1]
                self.assertEqual(run("dpkg-deb", "-f", package, "Architecture").strip(),
                                 architecture)
                run("dpkg-deb", "-x", package, folder)
                header = run("readelf", "-h", f"{folder}/usr/bin/reeve")
                self.assertIn(MACHINES[architecture], header)
                self.assertIn("librdkafka1", run("dpkg-deb", "-f", package, "Depends"))

    def test_each_is_of_its_checksum_and_says_what_it_is_made_of(self):
        sums = (PACKAGES / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        for line in sums:
            digest, name = line.split("  ")
            self.assertEqual(hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest(), digest)
        self.assertEqual(len(sums), len(list(PACKAGES.iterdir())) - 1)
        documents = packaged("*.spdx.json")
        self.assertEqual(len(documents), len(packaged("reeve_*.deb")))
        for document in documents:
            names = {package["name"]: package for package in
                     json.loads(document.read_text(encoding="utf-8"))["packages"]}
            self.assertLessEqual({"reeve", "librdkafka1", "libc6"}, names.keys())
            self.assertEqual(names["reeve"]["licenseDeclared"], "Apache-2.0")
            self.assertTrue(all(package["versionInfo"] for package in names.values()))


def load_tests(loader, _, __):
    return unittest.TestSuite(loader.loadTestsFromTestCase(case)
                              for case in (OnBookwormTest, OnTrixieTest, FilesTest))


if __name__ == "__main__":
    unittest.main()
