# SPDX-License-Identifier: Apache-2.0
"""One process of reeve. Only this module knows how a service is started and configured."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from . import paths
from .waiting import wait_for


def write_properties(path, properties):
    lines = (f"{key}={value}\n" for key, value in properties.items() if value is not None)
    pathlib.Path(path).write_text("".join(lines), encoding="utf-8")


class Service:
    """`reeve run ROLE --config FILE`, or `program --config FILE`, with its own folder.

    folder/service.properties, folder/data (its data.dir), folder/stderr (of all its runs).
    `properties` override the defaults below; `env` is added to the environment, for example
    REEVE_FAILPOINTS.
    """

    def __init__(self, role, bootstrap, prefix, partitions, name=None, folder=None,
                 properties=None, env=None, program=None):
        self.role, self.name = role, name or role
        self.command = [program] if program else [paths.reeve_binary(), "run", role]
        self.folder = pathlib.Path(folder or paths.new_folder(self.name))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.data.mkdir(exist_ok=True)
        self.stderr_path = self.folder / "stderr"
        self.config = self.folder / "service.properties"
        self.env = dict(env or {})
        self.properties = {
            "kafka.bootstrap.servers": bootstrap,
            "topics.prefix": prefix,
            "partitions": partitions,
            "data.dir": self.data,
            "http.port": 0,
            "http.auth": "none",
            **(properties or {}),
        }
        self.process = None

    def start(self, ready=True, seconds=30, env=None):
        """Starts the process; returns when it is ready, unless ready=False."""
        assert self.process is None, f"{self.name} is already running"
        write_properties(self.config, self.properties)
        with contextlib.suppress(FileNotFoundError):
            (self.data / "http.port").unlink()
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                [*map(str, self.command), "--config", str(self.config)],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                env={**os.environ, **self.env, **(env or {})},
            )
        if ready:
            self.wait_ready(seconds)
        return self

    # ---- HTTP ----

    def http_port(self):
        try:
            return int((self.data / "http.port").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def get(self, path, seconds=5):
        """(status, body) of GET http://127.0.0.1:PORT/path; (None, '') without an answer."""
        port = self.http_port()
        if port is None:
            return None, ""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None, ""

    def is_ready(self):
        assert self.process is not None, f"{self.name} was not started"
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"{self.name} ended with {code} before it was ready:\n{self.tail()}")
        return self.get("/readyz")[0] == 200

    def wait_ready(self, seconds=30):
        wait_for(lambda: f"{self.name} is ready:\n{self.tail()}", self.is_ready, seconds)

    def metric(self, name, **labels):
        """Sum of a metric over its labels, but for these; None if it is not there."""
        _, body = self.get("/metrics")
        values = [
            float(line.rsplit(" ", 1)[1]) for line in body.splitlines()
            if line.split("{")[0].split(" ")[0] == name
            and all(f'{label}="{value}"' in line for label, value in labels.items())
        ]
        return sum(values) if values else None

    # ---- faults and ends ----

    def peak_memory_mb(self):
        """Resident memory at its largest."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024

    def _signal(self, number):
        assert self.process is not None, f"{self.name} is not running"
        self.process.send_signal(number)

    def sigkill(self):
        """A crash; the data directory stays."""
        self._signal(signal.SIGKILL)
        self.process.wait(10)
        self.process = None

    def sigstop(self):
        self._signal(signal.SIGSTOP)

    def sigcont(self):
        self._signal(signal.SIGCONT)

    def wait_end(self, seconds=30):
        """The exit code, once the process has ended by itself (negative: the signal)."""
        code = wait_for(
            lambda: f"{self.name} ends:\n{self.tail()}",
            lambda: (self.process.poll() is not None) and [self.process.returncode], seconds,
        )[0]
        self.process = None
        return code

    def terminate(self, seconds=30):
        """SIGTERM, after which the exit code is 0."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        code = self.wait_end(seconds)
        if code != 0:
            raise AssertionError(f"{self.name} ended with {code}:\n{self.tail()}")

    def drop_data(self):
        """rm -rf of the data directory; the process must not be running."""
        assert self.process is None, f"{self.name} is running"
        shutil.rmtree(self.data)
        self.data.mkdir()

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    @property
    def stderr(self):
        with contextlib.suppress(FileNotFoundError):
            return self.stderr_path.read_text(errors="replace")
        return ""

    def tail(self, lines=40):
        return "\n".join(self.stderr.splitlines()[-lines:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
