# SPDX-License-Identifier: Apache-2.0
"""Five candidates and a hundred elections under kill -9, SIGSTOP, hung tasks, clean stops and a
broker crash: tokens rise strictly, no two tasks have the same one, and a task that has lost its
lease acts once more at most."""

import collections
import json
import os
import signal
import socketserver
import subprocess
import threading
import unittest

from lib import Broker, Cluster, paths, wait_for
from lib.service import write_properties

OWN_BROKERS = True
TIMEOUT_SECONDS = 900

ELECTIONS = 100
CANDIDATES = 5
BROKER_CRASH = 50  # the election that is forced by a broker crash
TIMES = {"leader.lease.ms": 500, "leader.renew.ms": 125, "leader.progress.ms": 600}


class Candidate:
    def __init__(self, cluster, stage, name, properties):
        self.cluster, self.stage, self.name, self.properties = cluster, stage, name, properties
        self.folder = stage.folder
        self.process, self.runs = None, 0

    def start(self):
        self.runs += 1
        data = self.folder / f"{self.name}-data"
        data.mkdir(exist_ok=True)
        config = self.folder / f"{self.name}.properties"
        write_properties(config, {
            "kafka.bootstrap.servers": self.cluster.broker.bootstrap,
            "topics.prefix": self.cluster.prefix, "data.dir": data, "http.port": 0,
            "http.auth": "none",
            "instance.id": f"{self.name}-{self.runs}", **TIMES, **self.properties})
        with open(self.folder / f"{self.name}.stderr", "ab") as stderr:
            self.process = subprocess.Popen(
                [paths.reeve_binary().parent / "leader-candidate", "--config", config],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                env={**os.environ, "LEADER_FOLDER": str(self.folder),
                     "LEADER_RESOURCE": str(self.stage.resource.server_address[1])})
        return self

    @property
    def hang_file(self):
        return self.folder / f"hang-{self.process.pid}"

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Ends the process, whatever state it is in."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)


class Resource(socketserver.ThreadingTCPServer):
    """The resource that the candidates' tasks change. It does not assume one leader, but refuses a
    token older than one that it has seen."""

    daemon_threads = allow_reuse_address = True

    def __init__(self):
        resource = self
        self.lock, self.newest, self.done, self.refused = threading.Lock(), -1, [], []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                what, token, pid = self.rfile.readline().decode().split()
                self.wfile.write(b"done\n" if resource.take(what, int(token), int(pid))
                                 else b"refused\n")

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A candidate was killed while it wrote."""

    def take(self, what, token, pid):
        with self.lock:
            accepted = token >= self.newest
            self.newest = max(token, self.newest)
            (self.done if accepted else self.refused).append((what, token, pid))
            return accepted

    def beginnings(self):
        with self.lock:
            return [(token, pid) for what, token, pid in self.done if what == "begin"]


class Stage:
    """The candidates of one test and their resource."""

    def __init__(self, cluster, properties=lambda number: {}):
        self.folder = paths.new_folder("candidates")
        self.resource = Resource()
        self.candidates = [Candidate(cluster, self, f"c{number}", properties(number))
                           for number in range(CANDIDATES)]

    def __enter__(self):
        for candidate in self.candidates:
            candidate.start()
        return self

    def __exit__(self, *_):
        for candidate in self.candidates:
            candidate.end()
        self.resource.shutdown()
        self.resource.server_close()

    def ledger(self):
        """[action, token, pid, outcome] of all complete lines."""
        text = (self.folder / "ledger").read_text()
        return [line.split(" ") for line in text[:text.rfind("\n") + 1].splitlines()]

    def beginnings(self):
        return self.resource.beginnings()

    def by_pid(self, pid):
        return next((c for c in self.candidates if c.process.pid == pid), None)

    def describe(self):
        tails = [f"--- {c.name} (exit {c.process.poll()})\n" + "\n".join(
            (self.folder / f"{c.name}.stderr").read_text().splitlines()[-8:])
            for c in self.candidates]
        return f"{self.resource.done[-10:]} {self.resource.refused[-10:]}\n" + "\n".join(tails)

    def wait_newer(self, token, seconds=90):
        """(token, candidate) of the newest term, once there is one beyond `token`."""
        def newest():
            begun = self.beginnings()
            return begun and begun[-1][0] > token and [begun[-1]]

        found, pid = wait_for(lambda: f"a term after {token}\n{self.describe()}", newest, seconds,
                              poll_seconds=0.02)[0]
        return found, self.by_pid(pid)


class LeaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.stop)

    def check(self, stage):
        """Checks what must always hold."""
        begun = [token for token, _ in stage.beginnings()]
        self.assertEqual(begun, sorted(set(begun)), "tokens strictly rise, none twice")
        # A task may be suspended between looking at its lease and acting. It never acts again: the
        # next look shows that the lease is over, whatever the log says by then.
        late = collections.Counter((token, pid) for _, token, pid in stage.resource.refused)
        self.assertEqual({task: count for task, count in late.items() if count > 1}, {},
                         "a task goes on acting under an old token")
        owners = {}
        for _, token, pid in stage.resource.done + stage.resource.refused:
            self.assertEqual(owners.setdefault(token, pid), pid, f"token {token} has one task")
        done = set(stage.resource.done)
        for what, token, pid, outcome in stage.ledger():
            if outcome == "done":
                self.assertIn((what, int(token), int(pid)), done)

    def test_tokens_rise_through_a_hundred_elections(self):
        with Cluster(self.broker, partitions=1) as cluster:
            cluster.topics_apply()
            with Stage(cluster) as stage:
                self.elections(stage)
                shown = json.loads(cluster.reeve("leader", "--output", "json").stdout)
                self.assertEqual([row["role"] for row in shown], ["test"])
                self.assertGreaterEqual(shown[0]["term"], stage.beginnings()[-1][0])
                self.assertIn("test", cluster.reeve("leader").stdout)
            self.check(stage)
            self.assertGreaterEqual(len(stage.beginnings()), ELECTIONS)
            self.assertGreater(len(stage.resource.refused), 0, "a zombie tried at least once")
            self.assertIn("hang", {line[0] for line in stage.ledger()})

    def elections(self, stage):
        later = []  # repairs the fault once the next term has begun
        token, leader = stage.wait_newer(-1)
        for number in range(ELECTIONS - 1):
            fault = ("kill", "end", "stop", "end", "hang", "end")[number % 6]
            if number == BROKER_CRASH:
                self.broker.kill()
                self.broker.restart()
            elif leader is None:
                pass  # it was killed before its line was read
            elif fault == "kill":
                leader.end()
                later.append(leader.start)
            elif fault == "stop":
                leader.signal(signal.SIGSTOP)
                later.append(lambda stopped=leader.process: stopped.send_signal(signal.SIGCONT))
            elif fault == "hang":
                leader.hang_file.touch()
                later.append(lambda file=leader.hang_file: file.unlink(missing_ok=True))
            else:
                leader.signal(signal.SIGTERM)
                later.append(lambda ended=leader: (ended.end(), ended.start()))
            if number != BROKER_CRASH:
                token, leader = stage.wait_newer(token)
            else:  # its lease may have outlasted the broker's absence
                token, leader = stage.beginnings()[-1][0], stage.by_pid(stage.beginnings()[-1][1])
                if leader is not None:
                    leader.end()
                    later.append(leader.start)
                token, leader = stage.wait_newer(token)
            while later:
                later.pop()()

    def test_the_lowest_rank_leads(self):
        # Long leases, so that a busy machine does not end one before the better candidate does.
        ranked = {"leader.strategy": "ranked", "leader.lease.ms": 3000, "leader.renew.ms": 500,
                  "leader.progress.ms": 20000}
        with Cluster(self.broker, partitions=1) as cluster:
            cluster.topics_apply()
            with Stage(cluster, lambda number: {**ranked, "leader.rank": min(number, 3)}) as stage:
                def leads(number):
                    def check():
                        begun = stage.beginnings()
                        return begun and begun[-1][1] == stage.candidates[number].process.pid
                    wait_for(lambda: f"candidate {number} leads\n{stage.describe()}", check, 90)

                leads(0)
                stage.candidates[0].end()
                leads(1)
                stage.candidates[0].start()
                leads(0)  # it starts and takes over
                self.assertIn("outranked", cluster_releases(cluster))
                def clashes():
                    text = (stage.folder / "c4.stderr").read_text()
                    return text.count("two candidates have the same rank")
                wait_for("c4 reports that c3 has its rank", clashes, 60)
                self.assertEqual(clashes(), 1)
            self.check(stage)


def cluster_releases(cluster):
    return {r.value["reason"] for r in cluster.read_topic("leadership")
            if r.value["kind"] == "release"}


if __name__ == "__main__":
    unittest.main()
