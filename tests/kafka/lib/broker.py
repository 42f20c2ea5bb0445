# SPDX-License-Identifier: Apache-2.0
"""Real brokers, through scripts/kafka."""

import os
import pathlib
import subprocess

from . import paths


class Broker:
    """A Kafka cluster of one or three brokers; REEVE_TEST_NODES says how many where the test does
    not.

    Broker.shared() is the one that the runner started for this test program. A test that kills
    brokers, or that wants three, starts its own: `with Broker(nodes=3) as broker:`; its file then
    says OWN_BROKERS = True, so that the runner starts none. `controller`: the cluster's metadata is
    kept by one more node, so that brokers may die without it. `properties`: lines for the brokers'
    server.properties, as `scripts/kafka --properties` takes them.
    """

    def __init__(self, nodes=None, folder=None, controller=False, properties=None):
        self.folder = str(folder or paths.new_folder("kafka"))
        self.nodes = nodes or int(os.environ.get("REEVE_TEST_NODES", "1"))
        self._shared = False
        options = ["--controller"] if controller else []
        if properties is not None:
            file = pathlib.Path(self.folder) / "more.properties"
            file.write_text(properties, encoding="utf-8")
            options += ["--properties", str(file)]
        self.bootstrap = self._kafka("start", "--nodes", str(self.nodes), *options)

    @classmethod
    def shared(cls):
        """The runner's broker; started here if a person runs the test file by hand."""
        if "REEVE_BOOTSTRAP" not in os.environ:
            return cls()
        broker = cls.__new__(cls)
        broker.bootstrap = os.environ["REEVE_BOOTSTRAP"]
        broker.folder = os.environ.get("REEVE_KAFKA_DIR", "")
        broker.nodes = len(broker.bootstrap.split(","))
        broker._shared = True
        return broker

    def _kafka(self, command, *arguments):
        done = subprocess.run(
            [str(paths.KAFKA), command, "--dir", self.folder, *arguments],
            capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"scripts/kafka {command} failed: {done.stderr}")
        return done.stdout.strip()

    def kill(self, node=1):
        """SIGKILL: a crash of one node."""
        self._kafka("kill", "--node", str(node))

    def restart(self, node=None):
        """Starts that node, or those that do not run, with data and ports; returns when they
        answer."""
        self._kafka("start", *(["--node", str(node)] if node else []))

    def tool(self, name, *arguments):
        """One of Kafka's own tools, by its class."""
        return self._kafka("tool", "--", name, *arguments)

    def stop(self):
        if not self._shared:
            self._kafka("stop", "--now")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
