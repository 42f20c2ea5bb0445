# SPDX-License-Identifier: Apache-2.0
"""The chart: what it makes of values is valid by the schemas of Kubernetes, its settings are those
of reeve, and values that cannot work are refused."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import kubernetes_validate
import yaml

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[2])
REEVE = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build/dev")).resolve() / "bin/reeve"
CHART = ROOT / "packaging" / "helm" / "reeve"
HELM = pathlib.Path(sys.executable).parent / "helm"
KUBERNETES = ("1.25", "1.33")
CUSTOM = {"ServiceMonitor"}  # of the Prometheus operator: no schema of Kubernetes
LEAST = {"kafka": {"bootstrapServers": "broker:9092"}, "tokens": {"secretName": "tokens"}}
MOST = {
    "image": {"repository": "registry.example/reeve", "tag": "1", "pullSecrets": ["pull"]},
    "kafka": {"bootstrapServers": "a:9092,b:9092"},
    "tokens": {"secretName": "tokens", "viewerSecretName": "viewer"},
    "tls": {"secretName": "tls"},
    "secrets": [{"name": "kafka", "secretName": "reeve-kafka"}],
    "settings": {"kafka.security.protocol": "SASL_SSL", "session.timeout.ms": 10000,
                 "kafka.sasl.password.file": "/etc/reeve-secrets/kafka/password"},
    "allowedHosts": ["orders.example"],
    "submission": {"service": {"type": "LoadBalancer", "port": 443}},
    "scheduler": {"replicas": 3, "settings": {"events.keep.ms": "30d"},
                  "nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}],
                  "environment": [{"name": "TZ", "value": "UTC"}]},
    "console": {"replicas": 1, "podAnnotations": {"a": "b"}},
    "persistence": {"size": "20Gi", "storageClass": "fast"},
    "agents": [{"name": "stock", "replicas": 2,
                "settings": {"agent.http.url": "http://stock.shop.svc/reserve"}},
               {"name": "payment", "settings": {"agent.http.url": "https://pay.example"}}],
    "serviceAccount": {"name": "orders", "annotations": {"a": "b"}},
    "serviceMonitor": {"enabled": True, "tokenSecretName": "viewer"},
}


def helm(*arguments, values):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        return subprocess.run([HELM, *arguments, CHART, "--values", file.name],
                              capture_output=True, text=True, check=False, timeout=60)


def objects(values):
    done = helm("template", "orders", "--namespace", "shop", values=values)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def find(made, kind, name):
    return next(each for each in made
                if each["kind"] == kind and each["metadata"]["name"] == name)


class HelmTest(unittest.TestCase):
    def test_is_valid(self):
        for values in (LEAST, MOST):
            self.assertEqual(helm("lint", "--strict", values=values).returncode, 0)
            for each in objects(values):
                if each["kind"] in CUSTOM:
                    continue
                for version in KUBERNETES:
                    with self.subTest(kind=each["kind"], name=each["metadata"]["name"]):
                        kubernetes_validate.validate(each, version, strict=True)

    def test_names_are_unique_and_selectors_find_their_pods(self):
        made = objects(MOST)
        names = [(each["kind"], each["metadata"]["name"]) for each in made]
        self.assertEqual(len(names), len(set(names)))
        pods = [each["spec"]["template"]["metadata"]["labels"] for each in made
                if each["kind"] in ("Deployment", "StatefulSet")]
        for each in made:
            if each["kind"] not in ("Service", "PodDisruptionBudget"):
                continue
            selector = each["spec"]["selector"]
            selector = selector.get("matchLabels", selector)
            found = [labels for labels in pods if selector.items() <= labels.items()]
            self.assertEqual(len(found), 1, each["metadata"]["name"])

    def test_settings_are_those_of_reeve(self):
        for values in (LEAST, MOST):
            settings = find(objects(values), "ConfigMap", "orders")["data"]
            self.assertLessEqual({"scheduler.properties", "topics.properties"}, set(settings))
            for name, content in settings.items():
                with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
                    # What only a pod has.
                    file.write("".join(line + "\n" for line in content.splitlines()
                                       if ".file = " not in line))
                    file.flush()
                    done = subprocess.run([REEVE, "config", "--config", file.name],
                                          capture_output=True, text=True, check=False, timeout=60,
                                          env={"PATH": os.environ["PATH"]})
                    self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_a_service_has_its_own_settings_before_those_of_all(self):
        values = {**LEAST, "settings": {"session.timeout.ms": 9000, "log.format": "logfmt"},
                  "scheduler": {"settings": {"session.timeout.ms": 12000}}}
        settings = find(objects(values), "ConfigMap", "orders")["data"]
        self.assertIn("session.timeout.ms = 12000\n", settings["scheduler.properties"])
        self.assertIn("session.timeout.ms = 9000\n", settings["supervisor.properties"])
        self.assertIn("log.format = logfmt\n", settings["console.properties"])

    def test_containers_may_do_nothing_that_they_need_not(self):
        for each in objects(MOST):
            if each["kind"] not in ("Deployment", "StatefulSet", "Job"):
                continue
            pod = each["spec"]["template"]["spec"]
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            for container in pod["containers"]:
                context = container["securityContext"]
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                self.assertIn("memory", container.get("resources", {}).get("limits", {})
                              if "agent" not in each["metadata"]["name"] else {"memory": 0})

    def test_each_service_is_probed_the_way_it_listens(self):
        for values, scheme in ((LEAST, "HTTP"), (MOST, "HTTPS")):
            made = objects(values)
            settings = find(made, "ConfigMap", "orders")["data"]
            self.assertEqual("http.tls.cert = " in settings["scheduler.properties"],
                             scheme == "HTTPS")
            services = [each for each in made if each["kind"] in ("Deployment", "StatefulSet")]
            self.assertGreaterEqual(len(services), 4)
            for each in services:
                with self.subTest(each["metadata"]["name"], scheme=scheme):
                    container = each["spec"]["template"]["spec"]["containers"][0]
                    self.assertIn("http", [port["name"] for port in container["ports"]])
                    found = {name: container[name]["httpGet"] for name in
                             ("startupProbe", "livenessProbe", "readinessProbe")}
                    self.assertEqual({name: (probe["path"], probe["port"], probe["scheme"])
                                      for name, probe in found.items()},
                                     {"startupProbe": ("/livez", "http", scheme),
                                      "livenessProbe": ("/livez", "http", scheme),
                                      "readinessProbe": ("/readyz", "http", scheme)})

    def test_one_of_several_pods_is_down_at_a_time(self):
        for values in (LEAST, MOST):
            made = objects(values)
            budgets = {each["metadata"]["name"]: each["spec"]["maxUnavailable"]
                       for each in made if each["kind"] == "PodDisruptionBudget"}
            several = {each["metadata"]["name"] for each in made
                       if each["spec" if "spec" in each else "metadata"].get("replicas", 1) > 1}
            self.assertEqual(budgets, dict.fromkeys(several, 1))

    def test_every_volume_that_is_mounted_exists(self):
        for values in (LEAST, MOST, {**LEAST, "persistence": {"enabled": False}}):
            for each in objects(values):
                if each["kind"] not in ("Deployment", "StatefulSet", "Job"):
                    continue
                pod = each["spec"]["template"]["spec"]
                there = {volume["name"] for volume in pod["volumes"]}
                there |= {claim["metadata"]["name"]
                          for claim in each["spec"].get("volumeClaimTemplates", [])}
                for mount in pod["containers"][0]["volumeMounts"]:
                    self.assertIn(mount["name"], there, each["metadata"]["name"])

    def test_refuses_values_that_cannot_work(self):
        for wrong, words in (
                ({"tokens": {"secretName": "t"}}, "bootstrapServers"),
                ({**LEAST, "tokens": {"secretName": ""}}, "secretName"),
                ({**LEAST, "kafka": {"bootstrapServers": "broker"}}, "bootstrapServers"),
                ({**LEAST, "shceduler": {}}, "shceduler"),
                ({**LEAST, "agents": [{"replicas": 1}]}, "name"),
                ({**LEAST, "agents": [{"name": "Not a name"}]}, "name"),
                ({**LEAST, "settings": {"a b": 1}}, "a b")):
            done = helm("template", "orders", values=wrong)
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
