# SPDX-License-Identifier: Apache-2.0
"""A Docker engine for one test.

It runs in its own namespaces (mounts, processes and, except for builds, network), so that all its
mounts, processes and routes disappear with their first process, even if the test is killed. Ports
that containers open on 127.0.0.1 are open only inside, so they cannot collide with others.

    engine = engine_for(cls, 2 * GIB)    for the tests of a class; skips them with the reason
    engine.start(own_network=True)       raises CannotRun with the reason
    engine.run("docker", "ps")           in those namespaces
    engine.stop()                        stops it; images and volumes stay for the next start
    engine.close()
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import unittest

from .debian import bare_root
from .paths import ROOT, new_folder
from .waiting import TimedOut, wait_for

CGROUPS = pathlib.Path("/sys/fs/cgroup")
GIB = 1 << 30
DEBIAN = "debian:12.12-slim"

# The first process of the namespaces. $1: the engine's folder, $2: its data directory, $3: the size
# of a tmpfs for the data, or 0 to keep it on disk. /run is replaced, so resolv.conf, which may be a
# link into /run, is copied first.
FIRST = r"""
set -e
mount --make-rprivate /
resolv=$(readlink -f /etc/resolv.conf)
cp "$resolv" "$1/resolv.conf"
mount -t tmpfs tmpfs /run
[ -e "$resolv" ] || { mkdir -p "${resolv%/*}" && cp "$1/resolv.conf" "$resolv"; }
[ "$3" = 0 ] || mount -t tmpfs -o "size=$3" tmpfs "$2"
ip link set lo up
touch /run/prepared
sleep infinity &
wait
"""


class CannotRun(Exception):
    """No engine can run here, for this reason."""


def has_rights():
    """Whether this process can create namespaces and mount in them; tried without side effects."""
    if os.geteuid() != 0:
        return False
    trial = "mount --make-rprivate / && mount -t tmpfs tmpfs /run"
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "sh",
                           "-c", trial], capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def overlay_works(folder):
    """Whether overlays can be mounted on the folder's file system."""
    names = [folder / f"overlay-{name}" for name in ("lower", "upper", "work", "merged")]
    for name in names:
        name.mkdir()
    lower, upper, work, merged = names
    script = (f"mount --make-rprivate / && mount -t overlay overlay "
              f"-o lowerdir={lower},upperdir={upper},workdir={work} {merged}")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                          check=False, timeout=60)
    for name in names:
        shutil.rmtree(name)
    return done.returncode == 0


def tar_of_bash(path):
    """An image with bash and its libraries, to test the engine before anything is built."""
    bash = os.path.realpath("/bin/bash")
    listed = subprocess.run(["ldd", bash], capture_output=True, text=True, check=True).stdout
    files = [word for word in listed.split() if word.startswith("/")]
    with tarfile.open(path, "w", dereference=True) as tar:
        tar.add(bash, "bin/bash")
        for file in files:
            tar.add(file, file.lstrip("/"))


def available_memory():
    """Free memory in bytes of this machine or container."""
    meminfo = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    left = 1024 * int(meminfo.partition("MemAvailable:")[2].split()[0])
    for limit, used in (("memory.max", "memory.current"),
                        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:
            left = min(left, int((CGROUPS / limit).read_text()) - int((CGROUPS / used).read_text()))
        except (OSError, ValueError):
            pass
    return left


class Engine:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.data.mkdir()
        self.in_memory = available_memory() > 12 * GIB
        self.storage = "overlay2"
        if not self.in_memory and not overlay_works(self.folder):
            self.storage = "vfs"
        self.cgroup = f"reeve-test-{os.getpid()}"
        self.log = self.folder / "dockerd.log"
        self.spaces = self.first = self.daemon = None

    def disk_gib(self):
        """The disk space that the engine needs."""
        if self.in_memory:
            return 1
        return 6 if self.storage == "overlay2" else 40

    def start(self, own_network):
        if self.spaces is None:
            self._make_spaces()
        command = [
            "dockerd", f"--storage-driver={self.storage}", f"--data-root={self.data}",
            "--exec-root=/run/docker", "--pidfile=/run/docker.pid",
            "--host=unix:///run/docker.sock", f"--cgroup-parent=/{self.cgroup}",
            "--exec-opt=native.cgroupdriver=cgroupfs",
        ]
        if not own_network:
            # It must not change the network of this machine.
            command += ["--bridge=none", "--iptables=false", "--ip6tables=false",
                        "--ip-forward=false", "--ip-masq=false"]
        with open(self.log, "ab") as log:
            self.daemon = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--target={self.first}", "--mount",
                 "--root", "--pid", *(["--net"] if own_network else []), "--", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment())
        try:
            wait_for("the engine answers", self._answers, 90, poll_seconds=0.2)
        except TimedOut:
            raise CannotRun(f"dockerd does not answer: {self.last_lines(1)}") from None

    def _make_spaces(self):
        size = 10 * GIB if self.in_memory else 0
        with open(self.log, "ab") as log:
            self.spaces = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork",
                 "--kill-child", "--mount-proc", "bash", "-c", FIRST, "first", str(self.folder),
                 str(self.data), str(size)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def made():
            if self.spaces.poll() is not None:
                raise CannotRun(f"no namespaces: {self.last_lines(1)}")
            children = subprocess.run(["pgrep", "-P", str(self.spaces.pid)], capture_output=True,
                                      text=True, check=False).stdout.split()
            if not children:
                return False
            self.first = int(children[0])
            return self.run("test", "-e", "/run/prepared", check=False).returncode == 0

        wait_for("the engine's namespaces", made, 60)

    def _answers(self):
        if self.daemon.poll() is not None:
            raise CannotRun(f"dockerd does not start: {self.last_lines(1)}")
        return self.run("docker", "version", check=False).returncode == 0

    def _environment(self):
        return dict(
            os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin", DOCKER_BUILDKIT="0",
            COMPOSE_DOCKER_CLI_BUILD="0", COMPOSE_HTTP_TIMEOUT="600",
            DOCKER_CONFIG=str(self.folder / "config"),
            DOCKER_HOST="unix:///run/docker.sock", TMPDIR=str(self.folder))

    def last_lines(self, count):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        wrong = [line for line in lines if "level=fatal" in line or "failed" in line]
        return " | ".join((wrong or lines)[-count:])

    def run(self, *command, check=True, timeout=600, **options):
        """The finished process, with its output as text. It runs in / and sees the engine's files
        and network."""
        done = subprocess.run(
            ["nsenter", f"--target={self.first}", "--mount", "--root", "--net", "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            check=False, timeout=timeout, env=self._environment(), **options)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
        return done

    def import_debian(self):
        """A replacement for debian:12.12-slim."""
        try:
            bare, tar = bare_root("bookworm"), self.folder / "debian.tar"
        except AssertionError as error:
            raise CannotRun(f"no bare Debian: {error}") from None
        unneeded = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc",
                    "usr/share/man", "usr/share/locale")
        self.run("tar", "-C", str(bare), "-cf", str(tar),
                 *(f"--exclude=./{folder}/*" for folder in unneeded), ".")
        self.run("docker", "import", str(tar), DEBIAN)
        tar.unlink()
        if self.run("docker", "run", "--rm", "--network=host", DEBIAN, "apt-get", "update",
                    check=False).returncode != 0:
            raise CannotRun("containers reach no Debian mirror")

    def build(self, image, context, *options):
        self.run("docker", "build", "--network=host", "-t", image, *options, str(context),
                 timeout=900)

    def try_out(self, image_tar, own_network):
        """Raises unless a confined container runs and commands run in it."""
        self.run("docker", "import", str(image_tar), "try-out")
        network = ["--network=host"]
        if own_network:
            self.run("docker", "network", "create", "try-out")
            network = ["--network=try-out", "--publish=127.0.0.1:18099:80"]
        self.run(
            "docker", "run", "--detach", "--interactive", "--name=try-out", "--read-only",
            "--cap-drop=ALL", "--memory=64m", "--cpus=1", "--security-opt=no-new-privileges:true",
            "--pids-limit=64", "--user=1000", "--tmpfs=/tmp", *network, "try-out",
            "/bin/bash", "-c", "echo works >/tmp/it; read -t 300", timeout=120)
        # Like a health check: a command in the container, which must see its files.
        wait_for("a command in a container", lambda: "works" in self.run(
            "docker", "exec", "try-out", "/bin/bash", "-c", "echo $(</tmp/it)", check=False,
            timeout=60).stdout, 30)
        self.run("docker", "rm", "--force", "try-out")
        if own_network:
            self.run("docker", "network", "rm", "try-out")

    def stop(self):
        if self.daemon is None:
            return
        if self.daemon.poll() is None:
            # Signalling nsenter would leave dockerd behind.
            subprocess.run(["nsenter", f"--target={self.first}", "--mount", "--root", "--pid",
                            "--", "sh", "-c", "kill -TERM $(cat /run/docker.pid)"],
                           capture_output=True, check=False)
            try:
                self.daemon.wait(60)
            except subprocess.TimeoutExpired as stuck:
                raise AssertionError(f"dockerd does not end: {self.last_lines(3)}") from stuck
        self.daemon = None

    def close(self):
        """Kills everything, whatever state it is in."""
        if self.spaces is None:
            return
        self.spaces.send_signal(signal.SIGKILL)
        self.spaces.wait()
        if self.daemon is not None:
            self.daemon.wait()
        self.spaces = self.first = self.daemon = None
        self._drop_cgroups()

    def _drop_cgroups(self):
        """Removes the empty control groups of the engine; the kernel releases them with a delay."""
        def gone():
            left = [path for path in (CGROUPS / self.cgroup, *CGROUPS.glob(f"*/{self.cgroup}"))
                    if path.exists()]
            for top in left:
                for folder, _, _ in os.walk(top, topdown=False):
                    try:
                        os.rmdir(folder)
                    except OSError:
                        pass
            return not left

        try:
            wait_for("empty control groups are gone", gone, 10)
        except TimedOut:
            pass


def require(condition, reason):
    if not condition:
        raise unittest.SkipTest(reason)


def engine_for(test_class, memory, groups=("compose",), networks=(False,)):
    """An engine that has been tried out with each of the networks (own_network) and runs with the
    last; DEBIAN is there, and so is what scripts/setup installs for the groups. Stopped after the
    tests of the class."""
    require(os.environ.get("REEVE_COMPOSE_TEST") != "no", "REEVE_COMPOSE_TEST=no")
    require(has_rights(), "an engine needs root and the right to make namespaces")
    require(available_memory() > memory, f"{memory / GIB:g} GiB of memory are needed")
    require(shutil.which("dockerd") or not os.path.exists("/run/systemd/system"),
            "to install Docker would start it on this machine: scripts/setup compose does that")
    setup = subprocess.run([ROOT / "scripts" / "setup", *groups],
                           capture_output=True, text=True, check=False)
    require(setup.returncode == 0, f"packages cannot be had: {setup.stderr.strip()}")
    folder = new_folder("engine")
    test_class.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
    engine = Engine(folder)
    need = engine.disk_gib()
    require(shutil.disk_usage(folder).free > need * GIB, f"{need} GiB of disk are needed")
    test_class.addClassCleanup(engine.close)
    try:
        tar_of_bash(folder / "bash.tar")
        for own_network in networks:
            engine.stop()
            engine.start(own_network)
            engine.try_out(folder / "bash.tar", own_network)
    except (AssertionError, CannotRun, OSError, subprocess.SubprocessError) as error:
        raise unittest.SkipTest(f"the engine does not work here: {error}") from None
    try:
        engine.import_debian()
    except CannotRun as reason:
        raise unittest.SkipTest(str(reason)) from None
    return engine
