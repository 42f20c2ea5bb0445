# SPDX-License-Identifier: Apache-2.0
"""The metrics of every service while orders succeed, are undone and fail: promtool finds nothing to
say about them, Debian's Prometheus scrapes them, and each query of the dashboard finds something.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

from lib import wait_for

TIMEOUT_SECONDS = 240
ROOT = pathlib.Path(__file__).resolve().parents[2]
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build/dev")).resolve() / "bin/reeve"
CACHE = pathlib.Path(os.environ.get("REEVE_CACHE") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reeve")
SERVICES = {"submission": "submission", "scheduler-1": "scheduler", "supervisor-1": "supervisor",
            "console": "console", "agent-pack": "agent-pack", "agent-pay": "agent-pay"}
ORDERS = 60

WORKFLOW = """
Name: shop
Version: 1
Steps:
  - Name: Pay
    Agent: pay
    TimeoutSeconds: 30
    Compensate: {Action: Refund}
    Retry:
      - {ErrorEquals: [States.ALL], IntervalSeconds: 0.1, MaxAttempts: 1}
    OnExhausted: compensate
  - Name: Pack
    Agent: pack
    TimeoutSeconds: 30
    OnExhausted: error
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, body=None):
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


class MetricsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (CACHE / "prometheus" / "promtool").exists():
            raise unittest.SkipTest("no Prometheus: scripts/setup tests")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "shop.yaml").write_text(WORKFLOW)
        cls.start("dev", [REEVE, "dev", cls.folder / "shop.yaml", "--data-dir", cls.folder / "data",
                          "--partitions", "2", "--agent-sim-fail-share", "0.3",
                          "--set", "kafka.statistics.interval.ms=500"])
        wait_for(lambda: cls.log("dev"), lambda: "Ctrl-C stops" in cls.log("dev"), 60)
        cls.ports = {name: int((cls.folder / "data" / name / "http.port").read_text())
                     for name in SERVICES}
        for number in range(ORDERS):
            get(cls.url("submission", "/orders"), json.dumps({
                "order_id": f"secret-{number}", "customer": "secret-customer", "currency": "GBP",
                "workflow": "shop", "attributes": {"secret-name": "secret-value"},
                "lines": [{"sku": "secret-sku", "quantity": 1, "unit_price": "1.50"}]}).encode())
        wait_for(cls.counts, cls.all_have_come_to_an_end, 90)

    @classmethod
    def start(cls, name, command):
        with open(cls.folder / f"{name}.out", "wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        cls.addClassCleanup(cls.end, name, process)

    @classmethod
    def end(cls, name, process):
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, cls.log(name)

    @classmethod
    def log(cls, name):
        return (cls.folder / f"{name}.out").read_text()

    @classmethod
    def url(cls, service, path):
        return f"http://127.0.0.1:{cls.ports[service]}{path}"

    @classmethod
    def counts(cls):
        return json.loads(get(cls.url("console", "/api/counts")))["by_state"]

    @classmethod
    def all_have_come_to_an_end(cls):
        counts = cls.counts()
        ends = [counts.get(state, 0) for state in ("Processed", "Compensated", "Error")]
        return sum(ends) == ORDERS and all(ends)

    def metrics(self, service):
        return get(self.url(service, "/metrics"))

    def values(self, service, name):
        """Labels -> value, of the series of one name."""
        return {labels: float(value) for labels, value in
                re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", self.metrics(service), re.M)}

    def test_promtool_accepts_them(self):
        for service in SERVICES:
            with self.subTest(service):
                done = subprocess.run([CACHE / "prometheus/promtool", "check", "metrics"],
                                      input=self.metrics(service), capture_output=True, text=True,
                                      check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_service_has_the_common_ones(self):
        for service in SERVICES:
            with self.subTest(service):
                for name in ("cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes",
                             "open_fds", "max_fds", "start_time_seconds"):
                    self.assertGreater(self.values(service, f"process_{name}")[""], 0, name)
                [(labels, value)] = self.values(service, "reeve_build_info").items()
                self.assertEqual(value, 1)
                self.assertRegex(labels, r'version="\d+\.\d+\.\d+",librdkafka="\d+\.\d+')

                def knows_its_brokers():
                    found = self.values(service, "reeve_kafka_client_rtt_avg_seconds")
                    return any('handle="reader",broker="1"' in labels for labels in found)

                wait_for(lambda: self.metrics(service), knows_its_brokers, 20)

    def test_orders_and_steps_are_counted_once(self):
        counts = self.counts()
        for state in ("Processed", "Compensated", "Error"):
            labels = f'workflow="shop",outcome="{state}"'
            for name in ("reeve_order_outcomes_total", "reeve_order_duration_seconds_count"):
                self.assertEqual(self.values("scheduler-1", name)[labels], counts[state], name)
        attempts = self.values("scheduler-1", "reeve_step_attempts_total")
        succeeded = 'workflow="shop",step="Pack",direction="do",outcome="succeeded",error=""'
        self.assertEqual(attempts[succeeded], counts["Processed"])
        failed = [value for labels, value in attempts.items()
                  if 'step="Pack",direction="do",outcome="failed"' in labels]
        self.assertEqual(sum(failed), counts["Error"])
        console = self.values("console", "reeve_console_open_alerts")
        self.assertEqual(console['about="order"'], counts["Error"])
        age = self.values("console", "reeve_console_oldest_error_age_seconds")[""]
        self.assertGreater(age, 0)
        self.assertLess(age, TIMEOUT_SECONDS)

    def test_nothing_of_an_order_is_in_them(self):
        for service in SERVICES:
            self.assertNotIn("secret", self.metrics(service))

    def test_prometheus_scrapes_them_and_every_query_of_the_dashboard_finds_something(self):
        port = free_port()
        targets = [{"targets": [f"127.0.0.1:{self.ports[name]}"], "labels": {"service": service}}
                   for name, service in SERVICES.items()]
        (self.folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(ROOT / "compose/prometheus/alerts.yml")],
            "scrape_configs": [{"job_name": "reeve", "static_configs": targets}]}))
        self.start("prometheus", [
            CACHE / "prometheus/prometheus", f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}"])

        def ask(path, **parameters):
            query = urllib.parse.urlencode(parameters)
            return json.loads(get(f"http://127.0.0.1:{port}/api/v1/{path}?{query}"))["data"]

        def all_up():
            try:
                found = ask("targets")["activeTargets"]
            except OSError:
                return False
            return [target["health"] for target in found] == ["up"] * len(SERVICES)

        wait_for(lambda: self.log("prometheus"), all_up, 60)
        panels = json.loads((ROOT / "compose/grafana/dashboards/reeve.json").read_text())["panels"]
        queries = {target["expr"].replace("$__rate_interval", "1m")
                   for panel in panels for target in panel.get("targets", [])}

        def without_data():
            return sorted(query for query in queries if not ask("query", query=query)["result"])

        self.assertGreater(len(queries), 60)
        wait_for(without_data, lambda: not without_data(), 60)

        def rules():
            return {rule["name"]: rule for group in ask("rules")["groups"]
                    for rule in group["rules"]}

        wait_for(rules, lambda: {rule["health"] for rule in rules().values()} == {"ok"}, 30)
        wait_for(rules, lambda: rules()["OrdersInError"]["state"] != "inactive", 30)


if __name__ == "__main__":
    unittest.main()
