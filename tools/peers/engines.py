# SPDX-License-Identifier: Apache-2.0
"""The peers of scripts/bench-peers: where each comes from, how its server and its worker are
started, and its load program. A variant is a set of settings; `default` has those that the peer
comes with.

Each class has `fetch()`, which fills the cache and raises Unavailable if it cannot; `start(site)`,
after which the workflow is deployed and the worker asks for work; `load(in_flight)`, the command of
the load program; and `restart(site)`, after the server was killed."""

import os
import pathlib
import platform
import re
import shutil

import versions
from machine import (CACHE, Failure, Site, Unavailable, answers, free_ports, is_open, once, run,
                     wait_until)

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS = 90
JVMS = pathlib.Path("/usr/lib/jvm")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>reeve</groupId>
  <artifactId>peer</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def jars(folder, group, artifact, version):
    """Of an artifact and what it needs, from Maven Central to FOLDER/ARTIFACT."""
    (folder / "pom.xml").write_text(POM.format(group=group, artifact=artifact, version=version),
                                    encoding="utf-8")
    run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime",
         f"-DoutputDirectory={folder / artifact}"], folder / "mvn.log", cwd=folder)


def jdk():
    """The folder of a JDK that is new enough."""
    homes = [pathlib.Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    for home in [*homes, *sorted(JVMS.glob("*"))]:
        try:
            release = (home / "release").read_text(encoding="utf-8")
        except OSError:
            continue
        version = re.search(r'^JAVA_VERSION="(\d+)', release, re.M)
        if version and int(version[1]) >= versions.JAVA and (home / "bin" / "javac").exists():
            return home
    raise Unavailable(f"it needs a JDK {versions.JAVA} or newer: install one (Debian 13: "
                      f"openjdk-{versions.JAVA}-jdk-headless), or name it in JAVA_HOME")


class LittleHorse:
    title = f"LittleHorse {versions.LITTLEHORSE}"
    variants = {
        "default": {},
        # Its default is one thread, 12 partitions, and a worker of 2 threads with one task each.
        "tuned": {"LHS_CORE_STREAM_THREADS": "2", "LHS_CLUSTER_PARTITIONS": "4",
                  "LHS_STREAMS_SESSION_TIMEOUT": "6000", "LHW_NUM_WORKER_THREADS": "8",
                  "LHC_INFLIGHT_TASKS": "16"},
    }
    warm_up_seconds = 60

    def __init__(self, variant):
        self.settings = self.variants[variant]

    def fetch(self):
        self.java = jdk() / "bin" / "java"
        Site.fetch_kafka()

        def prepare(folder):
            for artifact in ("littlehorse-server", "littlehorse-client"):
                jars(folder, "io.littlehorse", artifact, versions.LITTLEHORSE)

        self.jars = once(CACHE / f"littlehorse-{versions.LITTLEHORSE}", prepare)
        client = f"{self.jars}/littlehorse-client/*"
        source, classes = HERE / "LittleHorse.java", self.jars / "classes"
        run([f"{self.java}c", "-cp", client, "-d", classes, source], self.jars / "javac.log")
        self.client = [self.java, "-Xmx512m", "-cp", f"{classes}:{client}", "LittleHorse"]

    def start(self, site):
        port, internal, health = free_ports(3)
        self.port = port
        self.environment = {
            "LHC_API_HOST": "127.0.0.1", "LHC_API_PORT": str(port), "LOG_LEVEL": "WARN",
            "LHS_KAFKA_BOOTSTRAP_SERVERS": site.start_kafka(), "LHS_REPLICATION_FACTOR": "1",
            "LHS_SHOULD_CREATE_TOPICS": "true", "LHS_STATE_DIR": str(site.folder / "state"),
            "LHS_INSTANCE_ID": "1", "LHS_LISTENERS": f"PLAIN:{port}",
            "LHS_ADVERTISED_LISTENERS": f"PLAIN://127.0.0.1:{port}",
            "LHS_INTERNAL_BIND_PORT": str(internal), "LHS_INTERNAL_ADVERTISED_HOST": "127.0.0.1",
            "LHS_HEALTH_SERVICE_PORT": str(health), **self.settings}
        self.start_server(site)
        run([*self.client, "deploy"], site.folder / "deploy.log", Failure,
            env={**os.environ, **self.environment})
        self.start_worker(site)

    def start_server(self, site):
        site.start("server", [self.java, "-Xmx2g", "-cp", f"{self.jars}/littlehorse-server/*",
                              "io.littlehorse.App"], self.environment)
        wait_until("LittleHorse does not listen", START_SECONDS, lambda: is_open(self.port))

    def start_worker(self, site):
        site.start("worker", [*self.client, "work"], self.environment)

    def load(self, in_flight):
        return [*self.client, "load", str(in_flight)]

    def restart(self, site):
        """Its worker does not come back by itself after a lost connection."""
        self.start_server(site)
        site.kill("worker")
        self.start_worker(site)


class Restate:
    title = f"Restate {versions.RESTATE}"
    # Which of the two workflows of restate_worker.mjs.
    variants = {"default": "steps", "calls": "calls"}
    warm_up_seconds = 15

    def __init__(self, variant):
        self.workflow = self.variants[variant]

    def fetch(self):
        if shutil.which("node") is None:
            raise Unavailable("its SDK needs Node.js: scripts/setup tests")

        def prepare(folder):
            # Scripts of packages report the installation to their authors.
            run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                 f"@restatedev/restate-server@{versions.RESTATE}",
                 f"@restatedev/restate-sdk@{versions.RESTATE_SDK}"],
                folder / "npm.log", cwd=folder)

        folder = once(CACHE / f"restate-{versions.RESTATE}-{versions.RESTATE_SDK}", prepare)
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "?")
        package = f"node_modules/@restatedev/restate-server-linux-{machine}"
        self.server = folder / package / "bin" / "restate-server"
        if not self.server.exists():
            raise Unavailable(f"npm has no server of it for {platform.machine()}")
        for name in ("restate_worker.mjs", "restate_load.mjs"):
            shutil.copy(HERE / name, folder)  # next to node_modules, where Node.js looks for them
        self.folder = folder

    def start(self, site):
        self.ingress, self.admin, node, worker = free_ports(4)
        self.environment = {
            "RESTATE_BIND_IP": "127.0.0.1", "RESTATE_LISTEN_MODE": "tcp",
            "RESTATE_ADVERTISED_HOST": "127.0.0.1", "RESTATE_BIND_PORT": str(node),
            "RESTATE_INGRESS__BIND_PORT": str(self.ingress), "RESTATE_DISABLE_TELEMETRY": "true",
            "RESTATE_ADMIN__BIND_PORT": str(self.admin), "RESTATE_NODE_NAME": "peer",
            "RESTATE_BASE_DIR": str(site.folder / "data"), "RESTATE_LOG_FILTER": "warn"}
        self.restart(site)
        site.start("worker", ["node", self.folder / "restate_worker.mjs", str(worker)], {})
        wait_until("Restate's worker does not listen", START_SECONDS, lambda: is_open(worker))
        body = f'{{"uri": "http://127.0.0.1:{worker}"}}'.encode()
        wait_until("Restate does not take the worker", START_SECONDS, lambda: answers(
            f"http://127.0.0.1:{self.admin}/deployments", body))

    def load(self, in_flight):
        return ["node", self.folder / "restate_load.mjs", str(self.ingress), self.workflow,
                str(in_flight)]

    def restart(self, site):
        site.start("server", [self.server], self.environment)


class Temporal:
    title = f"Temporal CLI {versions.TEMPORAL}"
    # Pollers of the worker, and settings of the server. The development server reads the queue of a
    # shard at most 20 times a second, and a run of three steps needs seven such reads.
    variants = {
        "default": (0, {}),
        "tuned": (16, {"history.transferProcessorMaxPollRPS": 10000,
                       "history.visibilityProcessorMaxPollRPS": 1000,
                       "matching.numTaskqueueReadPartitions": 1,
                       "matching.numTaskqueueWritePartitions": 1}),
    }
    warm_up_seconds = 15
    environment = {}

    def __init__(self, variant):
        self.pollers, self.settings = self.variants[variant]

    def fetch(self):
        if shutil.which("go") is None:
            raise Unavailable("no package registry has its CLI as a program, and Go is not "
                              "installed, which builds it from its module")

        def prepare(folder):
            log = folder / "install.log"
            run(["/usr/bin/python3", "-m", "venv", folder / "venv"], log)
            run([folder / "venv" / "bin" / "pip", "install", "--quiet",
                 f"temporalio=={versions.TEMPORAL_SDK}"], log)
            run(["go", "install", f"github.com/temporalio/cli/cmd/temporal@v{versions.TEMPORAL}"],
                log, env={**os.environ, "GOBIN": str(folder)})

        self.folder = once(CACHE / f"temporal-{versions.TEMPORAL}-{versions.TEMPORAL_SDK}", prepare)

    def start(self, site):
        self.port, = free_ports(1)
        self.client = [self.folder / "venv" / "bin" / "python", HERE / "temporal.py",
                       f"127.0.0.1:{self.port}"]
        self.restart(site)
        site.start("worker", [*self.client, "work", str(self.pollers)], {})

    def load(self, in_flight):
        return [*self.client, "load", str(in_flight)]

    def restart(self, site):
        settings = [word for key, value in self.settings.items()
                    for word in ("--dynamic-config-value", f"{key}={value}")]
        site.start("server", [self.folder / "temporal", "server", "start-dev", "--headless",
                              "--ip", "127.0.0.1", "--port", str(self.port), "--log-level", "error",
                              "--db-filename", site.folder / "temporal.db", *settings], {})
        wait_until("Temporal does not listen", START_SECONDS, lambda: is_open(self.port))


class Zeebe:
    """Named so that its row says why it is empty."""

    title = "Zeebe"
    variants = {"default": None}

    def __init__(self, variant):
        del variant

    def fetch(self):
        raise Unavailable("its broker comes under terms of its vendor that this script does not "
                          "accept for you")


PEERS = {"littlehorse": LittleHorse, "restate": Restate, "temporal": Temporal, "zeebe": Zeebe}
