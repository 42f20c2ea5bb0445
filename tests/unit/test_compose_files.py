#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files of compose/ without an engine: what Compose, Prometheus and Grafana read, and
what has to agree with the rest of the tree. tests/kafka/test_compose.py starts everything."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
COMPOSE = ROOT / "compose"
CACHE = pathlib.Path(os.environ.get("REEVE_CACHE") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reeve")
JOBS = {"topics", "workflows"}
PAIRS = {"submission", "scheduler", "supervisor", "console", "agent-stock", "agent-payment",
         "agent-carrier"}


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def services():
    return yaml.safe_load(text("compose/docker-compose.yml"))["services"]


def expressions():
    """All queries of the dashboard and of the alert rules."""
    for panel in json.loads(text("compose/grafana/dashboards/reeve.json"))["panels"]:
        yield from (target["expr"] for target in panel.get("targets", []))
    for group in yaml.safe_load(text("compose/prometheus/alerts.yml"))["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


class ComposeFilesTest(unittest.TestCase):
    def test_every_container_is_confined(self):
        for name, service in services().items():
            with self.subTest(name):
                self.assertIs(service["read_only"], True)
                self.assertEqual(service["cap_drop"], ["ALL"])
                self.assertEqual(service["security_opt"], ["no-new-privileges:true"])
                for limit in ("mem_limit", "cpus", "pids_limit"):
                    self.assertTrue(service[limit])
                for port in service.get("ports", []):
                    self.assertTrue(port.startswith("127.0.0.1:"), port)
                if name not in JOBS | {"load"}:
                    self.assertIn("healthcheck", service)

    def test_services_have_two_instances(self):
        self.assertEqual({name for name, s in services().items() if s.get("scale") == 2}, PAIRS)

    def test_kafka_has_the_version_of_the_tests(self):
        version = re.search(r"^default_version=(\S+)", text("scripts/kafka"), re.M).group(1)
        images = {s["image"] for s in services().values() if "kafka" in s["image"]}
        self.assertEqual(images, {f"apache/kafka:{version}"})

    def test_everything_fetched_has_a_version(self):
        """A tag such as 12-slim, or a package without a version, is another one tomorrow."""
        dockerfiles = [ROOT / "compose/Dockerfile", ROOT / "packaging/Dockerfile",
                       *(ROOT / "tests/kafka/stand_ins").glob("*/Dockerfile")]
        images = {image for file in dockerfiles
                  for image in re.findall(r"^FROM (\S+)", file.read_text(encoding="utf-8"), re.M)}
        images |= {service["image"] for service in services().values() if "image" in service}
        own = {image for image in images if image.startswith("reeve")}
        self.assertGreater(len(images - own), 3)
        for image in images - own:
            self.assertRegex(image, r":v?\d+\.\d+|@sha256:")
        packages = re.search(r"^python_packages=\((.*?)\)$", text("scripts/setup"),
                             re.M | re.S).group(1)
        for package in packages.split():
            self.assertRegex(package, r"==\d")

    def test_the_image_gets_every_folder_that_the_build_needs(self):
        folders = re.search(r"foreach\(folder (base .*?)\)", text("CMakeLists.txt"), re.S)
        copied = re.findall(r"^COPY (\w+) \1$", text("compose/Dockerfile"), re.M)
        self.assertEqual(sorted(copied), sorted(folders.group(1).split()))
        self.assertLessEqual({f"!{folder}" for folder in copied},
                             set(text(".dockerignore").splitlines()))

    def test_the_image_is_made_as_that_of_a_release(self):
        """But for the COPY of the package, which is from a build stage or from a folder."""
        def steps(dockerfile, stage):
            lines = text(dockerfile).split(stage)[1].split("\n# ----")[0].splitlines()
            return [line for line in lines if not line.startswith(("COPY ", "ARG "))]

        self.assertEqual(steps("compose/Dockerfile", "FROM debian:12.12-slim AS reeve\n"),
                         steps("packaging/Dockerfile", "FROM debian:12.12-slim\n"))

    def test_prometheus_scrapes_every_service(self):
        scrape = yaml.safe_load(text("compose/prometheus/prometheus.yml"))["scrape_configs"]
        self.assertEqual(set(scrape[0]["dns_sd_configs"][0]["names"]), PAIRS)

    def test_queries_use_existing_metrics(self):
        named = set()
        for folder in ("platform", "kafka", "replica", "leader", "services"):
            for path in (ROOT / folder).rglob("*.c"):
                named |= set(re.findall(r'"((?:reeve|process)_[a-z0-9_]+)',
                                        path.read_text(encoding="utf-8")))
        used = {re.sub("_bucket$", "", metric) for expr in expressions()
                 for metric in re.findall(r"\b(?:reeve|process)_[a-z0-9_]+", expr)}
        self.assertGreater(len(used), 20)
        self.assertEqual(sorted(used - named), [])

    def test_panels_do_not_overlap(self):
        taken = {}
        for panel in json.loads(text("compose/grafana/dashboards/reeve.json"))["panels"]:
            at = panel["gridPos"]
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertLess(x, 24)
                    self.assertIsNone(taken.get((x, y)), panel["title"])
                    taken[x, y] = panel["title"]

    def test_alerts_know_the_number_of_partitions(self):
        count = re.search(r"^partitions\s*= (\d+)", text("compose/reeve/reeve.properties"), re.M)
        self.assertIn(f"< {count.group(1)}\n", text("compose/prometheus/alerts.yml"))

    def test_secrets_agree(self):
        password = text("compose/secrets/kafka-password").strip()
        self.assertIn(f'user_reeve="{password}"', text("compose/secrets/kafka-jaas.conf"))

    def test_tokens_agree(self):
        lines = text("compose/secrets/http-tokens").splitlines()
        known = {fields[0]: fields[1:3] for fields in (line.split() for line in lines)
                 if fields[0] != "#"}
        self.assertEqual({name: role for name, (role, _) in known.items()}, {
            "operator": "operator", "console": "viewer", "prometheus": "viewer",
            "application": "submitter"})
        for name, (_, digest) in known.items():
            token = text(f"compose/secrets/{name}-token").strip()
            self.assertEqual(digest, f"sha256:{hashlib.sha256(token.encode()).hexdigest()}", name)

    def test_each_container_has_the_tokens_that_it_reads(self):
        properties = text("compose/reeve/reeve.properties")
        for name, service in services().items():
            with self.subTest(name):
                reads = {pathlib.Path(path).name for path in
                         re.findall(r"/run/secrets/[\w.-]+", json.dumps(service))}
                if service["image"] == "reeve:latest":
                    reads |= {pathlib.Path(path).name for path in
                              re.findall(r"/run/secrets/[\w.-]+", properties)}
                    if name not in PAIRS:
                        reads.remove("http-tokens")  # it serves nothing
                if name == "prometheus":
                    reads |= {pathlib.Path(path).name for path in re.findall(
                        r"/run/secrets/[\w.-]+", text("compose/prometheus/prometheus.yml"))}
                self.assertEqual(set(service.get("secrets", [])), reads)

    def test_reeve_reads_its_configuration(self):
        build = os.environ.get("REEVE_BUILD_DIR")
        if not build:
            self.skipTest("no build")
        done = subprocess.run(
            [pathlib.Path(build) / "bin/reeve", "config", "--config",
             COMPOSE / "reeve/reeve.properties"], capture_output=True, text=True, check=False,
            env=dict(os.environ, REEVE_KAFKA_SASL_PASSWORD_FILE=COMPOSE / "secrets/kafka-password"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_compose_reads_it(self):
        if not shutil.which("docker-compose"):
            self.skipTest("no docker-compose: scripts/setup compose")
        done = subprocess.run(
            ["docker-compose", "--file", COMPOSE / "docker-compose.yml", "--profile", "load",
             "config"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(yaml.safe_load(done.stdout)["services"]), set(services()))

    def promtool(self, *arguments):
        program = CACHE / "prometheus" / "promtool"
        if not program.exists():
            self.skipTest("no promtool: scripts/setup tests")
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(shutil.copytree(COMPOSE / "prometheus", f"{folder}/prometheus"))
            file = copy / "prometheus.yml"
            file.write_text(file.read_text(encoding="utf-8").replace(
                "/run/secrets", str(COMPOSE / "secrets")), encoding="utf-8")
            self.promtool("check", "config", file)

    def test_alerts_fire_when_they_should(self):
        tests = ROOT / "tests/unit/prometheus/alerts.yml"
        self.promtool("test", "rules", tests)
        tested = set(re.findall(r"alertname: (\w+)", tests.read_text(encoding="utf-8")))
        rules = re.findall(r"- alert: (\w+)", text("compose/prometheus/alerts.yml"))
        self.assertEqual(tested, set(rules))


if __name__ == "__main__":
    unittest.main()
