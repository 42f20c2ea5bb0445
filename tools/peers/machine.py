# SPDX-License-Identifier: Apache-2.0
"""What runs on this machine for scripts/bench-peers: processes that it starts and stops by pid,
free ports, what they use, and what others use meanwhile."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("REEVE_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or
                                  pathlib.Path.home() / ".cache") / "reeve") / "peers"
STOP_SECONDS = 15
IN_NAMESPACE = "REEVE_PEERS_LOOPBACK_ONLY"

sys.path.insert(0, str(ROOT / "tests" / "bench"))
from process import cpu_seconds  # noqa: E402


class Failure(Exception):
    """One line for the user: the measurement cannot go on."""


class Unavailable(Exception):
    """One line for the user: the peer cannot be had on this machine, so it is not measured."""


def say(text):
    print(f"bench-peers: {text}", file=sys.stderr, flush=True)


def loopback_only(arguments):
    """Continues as the same program in a network namespace that has loopback and nothing else:
    LittleHorse's listeners have no addresses, and Restate looks for newer versions of itself."""
    if os.environ.get(IN_NAMESPACE):
        return
    enter = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c",
             'ip link set lo up && exec "$@"', "sh"]
    try:
        subprocess.run([*enter, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        say("no network namespace can be made here: servers can be reached from outside")
        return
    os.environ[IN_NAMESPACE] = "yes"
    os.execvp(enter[0], [*enter, sys.executable, *arguments])


def run(arguments, log, error=Unavailable, **options):
    """A step of the preparation, whose output is of interest if it fails."""
    try:
        with open(log, "ab") as out:
            done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                  check=False, **options)
    except FileNotFoundError:
        raise Unavailable(f"{arguments[0]} is not installed") from None
    if done.returncode != 0:
        command = " ".join([pathlib.Path(arguments[0]).name, str(arguments[1])])
        raise error(f"`{command} ...` failed; see {log}")


def once(folder, prepare):
    """Fills a folder of the cache; one that was left half full is emptied first."""
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        say(f"getting {folder.name} (once)")
        prepare(folder)
        (folder / "complete").touch()
    return folder


def free_ports(count):
    script = f'. "{ROOT}/scripts/lib.sh"; free_ports {count}'
    found = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    return [int(port) for port in found.stdout.split()]


def wait_until(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"{what} within {seconds} s")
        time.sleep(0.1)


def is_open(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def answers(url, body=None):
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status < 300
    except (urllib.error.URLError, OSError):
        return False


def busy_seconds():
    """CPU time of the whole machine, and what its host took from it."""
    words = pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("\nVmRSS:", 1)[1].split()[0]) / 1024


class Usage:
    """What named processes use from now on, and the whole machine."""

    def __init__(self, pids):
        self.pids = dict(pids)
        self.before = self.cpu()
        self.busy, self.begun = busy_seconds(), time.monotonic()

    def cpu(self):
        try:
            return {name: cpu_seconds(pid) for name, pid in self.pids.items()}
        except OSError:
            raise Failure("one of its processes has ended") from None

    def end(self, load_seconds):
        """load_seconds: CPU time of the load program, which has ended."""
        cpu = {name: used - self.before[name] for name, used in self.cpu().items()}
        cpu["load"] = load_seconds
        others = busy_seconds() - self.busy - sum(cpu.values())
        return {"cpu_s": cpu, "rss_mb": {name: rss_mb(pid) for name, pid in self.pids.items()},
                "others": max(0, others / (time.monotonic() - self.begun))}


class Site:
    """A folder of a peer, and its processes."""

    def __init__(self, folder):
        self.folder, self.started, self.pids, self.kafka = folder, {}, {}, None

    @staticmethod
    def fetch_kafka():
        subprocess.run([ROOT / "scripts" / "kafka", "fetch"], check=True)

    def start_kafka(self):
        """The same broker for all that need one, by scripts/kafka."""
        self.kafka = self.folder / "kafka"
        done = subprocess.run([ROOT / "scripts" / "kafka", "start", "--dir", self.kafka],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failure("Kafka does not start")
        self.pids["broker"] = int((self.kafka / "node-1.pid").read_text(encoding="utf-8"))
        return done.stdout.strip()

    def start(self, name, arguments, environment):
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(arguments, cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, env={**os.environ, **environment})
        self.started[name] = process
        self.pids[name] = process.pid

    def kill(self, name):
        process = self.started.pop(name)
        del self.pids[name]
        process.kill()
        process.wait()

    def check(self):
        for name, process in self.started.items():
            if process.poll() is not None:
                raise Failure(f"the {name} ended with {process.returncode}; "
                              f"see {self.folder}/{name}.log")

    def stop(self):
        for process in self.started.values():
            process.terminate()
        for process in self.started.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.kafka is not None:
            subprocess.run([ROOT / "scripts" / "kafka", "stop", "--dir", self.kafka, "--now"],
                           check=False)
