# SPDX-License-Identifier: Apache-2.0
"""Bare Debians of scripts/roots.sh, and what scripts/package made for them."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from .pages import Shell
from .paths import ROOT

PACKAGES = ROOT / "build" / "packages"
MARKS = {"bookworm": "deb12", "trixie": "deb13"}
LONG = 600  # seconds; registries may be slow, and an emulated processor is
EMULATOR = pathlib.Path("/usr/lib/binfmt.d/qemu-aarch64.conf")
FORMATS = pathlib.Path("/proc/sys/fs/binfmt_misc")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=LONG, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


def with_roots(script, *arguments):
    """The command that runs a script with the functions of scripts/roots.sh."""
    sourced = f". {ROOT}/scripts/lib.sh; . {ROOT}/scripts/roots.sh; {script}"
    return ["bash", "-c", sourced, "scripts/package", *map(str, arguments)]


def bare_root(release, *architecture):
    """The folder of a bare Debian, made where there is none yet. It is not to be changed."""
    return pathlib.Path(run(*with_roots('make_bare_root "$@"', release, *architecture))
                        .strip().splitlines()[-1])


def host():
    return run("dpkg", "--print-architecture").strip()


def packaged(pattern):
    return sorted(PACKAGES.glob(pattern))


def the_package(name, release, architecture):
    """The file of a package. Not to have built one is an error, unless scripts/package was asked
    for others only."""
    found = packaged(f"{name}_*~{MARKS[release]}_{architecture}.deb")
    if found:
        return found[-1]
    reason = f"scripts/package has not built {name} for {release} on {architecture}"
    if "--all" in os.environ.get("REEVE_PACKAGE_ARGUMENTS", "").split() or not packaged("*.deb"):
        raise AssertionError(reason)
    raise unittest.SkipTest(f"{reason}; --all does")


def the_archive(architecture):
    """Made along with the packages for bookworm."""
    the_package("reeve", "bookworm", architecture)
    found, = packaged(f"reeve-*-linux-{architecture}.tar.xz")
    return found


# Registers the emulator with the kernel until its input ends.
REGISTER = f"""
[ ! -e {FORMATS}/{EMULATOR.stem} ] || {{ echo there; exec cat; }}
mount --make-rprivate /
[ -e {FORMATS}/register ] || mount -t binfmt_misc binfmt_misc {FORMATS}
cat {EMULATOR} >{FORMATS}/register
echo there
cat
echo -1 >{FORMATS}/{EMULATOR.stem}
"""


@contextlib.contextmanager
def emulation():
    """The kernel runs programs for arm64 meanwhile, also where the emulator has not registered
    itself when it was installed, as in a container."""
    if not EMULATOR.exists():
        raise unittest.SkipTest("no qemu-user-static: scripts/setup emulation installs it")
    with subprocess.Popen(["unshare", "--mount", "sh", "-ec", REGISTER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "there\n":
            raise unittest.SkipTest(f"no emulation of arm64 here: {process.communicate()[1]}")
        yield


class Root:
    """A bare Debian for one test. Commands run in a network of their own, in which all ports are
    free, unless they need this machine's."""

    def __init__(self, test, release, *architecture):
        if os.geteuid() != 0:
            test.skipTest("root directories need root rights")
        bare = bare_root(release, *architecture)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=bare.parent))
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        run("cp", "-a", f"{bare}/.", self.folder)
        # `apt install` as the pages have it, without a question.
        (self.folder / "etc/apt/apt.conf.d/90-no-questions").write_text(
            'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n', encoding="ascii")

    def _command(self, online, *command):
        inside = with_roots('in_root "$@"', self.folder, *command)
        if online:
            return inside
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *inside]

    def run(self, script, *arguments, online=False):
        return run(*self._command(online, "bash", "-ec", script, "bash", *arguments))

    def shell(self):
        """A bash for the commands of pages, in a new folder."""
        return Shell(self._command(False, "bash", "-c", 'cd "$(mktemp -d)" && exec bash --norc'))

    def take(self, file):
        shutil.copy(file, self.folder / "tmp")
        return f"/tmp/{pathlib.Path(file).name}"

    def install(self, *packages):
        """Files of packages, and names of Debian's."""
        return self.run("apt-get install -q \"$@\"", *(
            self.take(package) if isinstance(package, pathlib.Path) else package
            for package in packages), online=True)

    def has(self, path):
        return (self.folder / path.lstrip("/")).exists()
