# SPDX-License-Identifier: Apache-2.0
"""What scripts/package made, as those have it who install it: in a bare Debian, which has neither
compiler nor libraries, an order is processed; a newer package takes the older one's place; what is
removed and purged is gone. Releases and architectures that were not packaged are not tested."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
PACKAGES = ROOT / "build" / "packages"
RELEASES = {"deb12": "bookworm", "deb13": "trixie"}
MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}
LONG = 600  # seconds; registries may be slow
TIMEOUT_SECONDS = 1800

# In the root; $1 is the program, $2 the folder of workflows.
PROCESS_AN_ORDER = """
cd "$(mktemp -d)"
"$1" dev "$2/three-steps.yaml" --try >log 2>&1 &
for i in $(seq 600); do ! grep -q " submitted, " log || break; sleep 0.05; done
kill %1
wait
cat log
"""
PROCESSED = r"(?m)^try-\d+ +Processed +Processed "


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=LONG, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def roots(script, *arguments):
    """With the functions of scripts/roots.sh."""
    return run("bash", "-c", f'. scripts/lib.sh; . scripts/roots.sh; {script}', "scripts/package",
               *arguments, cwd=ROOT)


def packaged(pattern):
    return sorted(PACKAGES.glob(pattern))


def host():
    return run("dpkg", "--print-architecture").strip()


class Root:
    """A bare Debian of one release, for one test."""

    def __init__(self, test, release):
        if os.geteuid() != 0:
            test.skipTest("root directories need root rights")
        bare = roots('make_bare_root "$1"', release).strip().splitlines()[-1]
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path(bare).parent))
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        run("cp", "-a", f"{bare}/.", self.folder)

    def run(self, script, *arguments):
        return roots('in_root "$@"', self.folder, "bash", "-ec", script, "bash", *arguments)

    def take(self, file):
        shutil.copy(file, self.folder / "tmp")
        return f"/tmp/{pathlib.Path(file).name}"

    def install(self, package):
        self.run("apt-get install -y -q --no-install-recommends $1", self.take(package))

    def has(self, path):
        return (self.folder / path.lstrip("/")).exists()


def newer(package, into):
    """The same package as a later revision."""
    folder = pathlib.Path(into) / "newer"
    run("dpkg-deb", "-R", package, folder)
    control = folder / "DEBIAN" / "control"
    control.write_text(re.sub(r"^(Version: .*)$", r"\1.1", control.read_text(), flags=re.M))
    return run("dpkg-deb", "-b", folder, into).split("'")[-2]


class PackagesTest(unittest.TestCase):
    def packages_here(self):
        for mark, release in RELEASES.items():
            for package in packaged(f"reeve_*~{mark}_{host()}.deb"):
                yield release, package

    def test_a_package_is_installed_upgraded_removed_and_purged(self):
        for release, package in self.packages_here():
            with self.subTest(package=package.name), tempfile.TemporaryDirectory() as folder:
                root = Root(self, release)
                began = time.monotonic()
                root.run("apt-get update -q")
                root.install(package)
                self.assertRegex(root.run(PROCESS_AN_ORDER, "reeve", "/usr/share/reeve/workflows"),
                                 PROCESSED)
                print(f"{package.name}: from a bare {release} to a processed order in "
                      f"{time.monotonic() - began:.0f} s", flush=True)
                self.assertIn("history", root.run(
                    ". /usr/share/bash-completion/completions/reeve\n"
                    "COMP_WORDS=(reeve orders h) COMP_CWORD=2; _reeve; echo $COMPREPLY"))
                self.assertTrue(root.has("/usr/share/man/man1/reeve-orders.1.gz"))
                self.assertTrue(root.has("/usr/lib/systemd/system/reeve-scheduler.service"))
                self.assertIn("uid=", root.run("id reeve"))

                root.run("sed -i 's/^topics.prefix .*/topics.prefix = shop/' "
                         "/etc/reeve/reeve.properties\n"
                         "install -d -o reeve /var/lib/reeve/scheduler")
                root.install(newer(package, folder))
                self.assertIn("topics.prefix = shop",
                              root.run("reeve config --config /etc/reeve/reeve.properties"))

                root.run("apt-get remove -y -q reeve")
                self.assertFalse(root.has("/usr/bin/reeve"))
                self.assertTrue(root.has("/etc/reeve/reeve.properties"))
                self.assertTrue(root.has("/var/lib/reeve/scheduler"))
                root.run("apt-get purge -y -q reeve")
                self.assertFalse(root.has("/etc/reeve"))
                self.assertFalse(root.has("/var/lib/reeve"))

    def test_the_archive_runs_anywhere_without_any_package(self):
        for archive in packaged(f"reeve-*-linux-{host()}.tar.xz"):
            for release in {release for release, _ in self.packages_here()}:
                with self.subTest(archive=archive.name, release=release):
                    root = Root(self, release)
                    run("tar", "-C", root.folder / "opt", "-xf", archive)
                    folder = f"/opt/{archive.name.removesuffix('.tar.xz')}"
                    self.assertRegex(root.run(PROCESS_AN_ORDER, f"{folder}/bin/reeve",
                                              f"{folder}/share/workflows"), PROCESSED)
                    libraries = root.run("ldd $1", f"{folder}/bin/reeve")
                    self.assertIn(f"{folder}/bin/../lib/reeve/librdkafka.so.1", libraries)
                    self.assertNotIn("not found", libraries)

    def test_programs_are_of_the_architecture_that_the_name_says(self):
        for package in packaged("reeve_*.deb"):
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
        for document in packaged("*.spdx.json"):
            names = {package["name"]: package for package in
                     json.loads(document.read_text(encoding="utf-8"))["packages"]}
            self.assertLessEqual({"reeve", "librdkafka1", "libc6"}, names.keys())
            self.assertEqual(names["reeve"]["licenseDeclared"], "Apache-2.0")
            self.assertTrue(all(package["versionInfo"] for package in names.values()))


if __name__ == "__main__":
    unittest.main()
