# SPDX-License-Identifier: Apache-2.0
"""Real brokers, run by scripts/kafka."""

import json
import os
import pathlib
import subprocess

from . import paths
from .waiting import wait_for


class EmbeddedBroker:
    """`reeve broker` with the topics of one prefix."""

    nodes = 1

    def __init__(self, prefix, partitions, agents=(), apps=()):
        folder = paths.new_folder("broker")
        file, self.stderr = folder / "bootstrap", folder / "stderr"
        with open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                [paths.reeve_binary(), "broker", "--bootstrap-file", file],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        wait_for(self.stderr.read_text, file.exists)
        self.bootstrap = file.read_text(encoding="utf-8")
        flags = [flag for name in agents for flag in ("--agent", name)]
        flags += [flag for name in apps for flag in ("--app", name)]
        subprocess.run(
            [paths.reeve_binary(), "topics", "apply", "--kafka-bootstrap-servers", self.bootstrap,
             "--topics-prefix", prefix, "--partitions", str(partitions), *flags],
            check=True, stdout=subprocess.DEVNULL, timeout=60)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Broker:
    """A Kafka cluster of one or three brokers; REEVE_TEST_NODES sets the default.

    Broker.shared() is the cluster that the runner started for this test program. A test that kills
    brokers, or needs three, starts its own with `with Broker(nodes=3) as broker:`; its file then
    sets OWN_BROKERS = True, so that the runner starts none. `controller`: a separate node is the
    controller, so that it survives when brokers are killed. `properties`: lines for the brokers'
    server.properties, in the format of `scripts/kafka --properties`.
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
        """The runner's broker; started here when the test file is run by hand."""
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
        """Starts that node, or all that are down, with their old data and ports; returns when they
        answer."""
        self._kafka("start", *(["--node", str(node)] if node else []))

    def tool(self, name, *arguments):
        """One of Kafka's own tools, by its class."""
        return self._kafka("tool", "--", name, *arguments)

    def delete_records(self, topic, partition, before):
        """The partition begins at this offset from now on."""
        file = paths.new_folder("delete-records") / "offsets.json"
        file.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": topic, "partition": partition, "offset": before}]}), encoding="utf-8")
        self.tool("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(file))

    def stop(self):
        if not self._shared:
            self._kafka("stop", "--now")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
