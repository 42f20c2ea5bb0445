# SPDX-License-Identifier: Apache-2.0
"""Logins with SASL: SCRAM works or is refused with the reason; OAUTHBEARER takes its tokens from a
file or a command, in time, and a service outlives tokens that are late, wrong or missing."""

import base64
import json
import os
import pathlib
import re
import subprocess
import time
import unittest

import confluent_kafka

from lib import Broker, paths, wait_for
from lib.cluster import Cluster
from lib.service import write_properties

OWN_BROKERS = True
TIMEOUT_SECONDS = 600

# The plaintext listener is for scripts/kafka and the tests themselves. A connection lasts as long
# as its token, and at most 8 s: librdkafka 2.0 cannot log in again on the same one. That costs one
# heartbeat of the group each time, which must not be the next one again.
REAUTH_SECONDS = 8
MODULES = "org.apache.kafka.common.security"
BROKER = f"""
listeners+=SASL_PLAINTEXT://127.0.0.1:@PORT@
advertised.listeners+=SASL_PLAINTEXT://127.0.0.1:@PORT@
listener.security.protocol.map+=SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,OAUTHBEARER
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
{MODULES}.plain.PlainLoginModule required user_ann="right";
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=\
{MODULES}.scram.ScramLoginModule required;
listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=\
{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms={REAUTH_SECONDS * 1000}
"""
CANARY = "canary-7f3a"
SCRAM_FIXED_IN = 0x02060100


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(seconds):
    """An unsecured JSON web token that expires in that time."""
    now = time.time()
    return ".".join([part({"alg": "none"}), part(
        {"sub": "reeve", "iat": now - 60, "exp": now + seconds, "jti": CANARY}), ""])


def write_token(path, seconds):
    """Replaces the file, so that no reader sees a part."""
    fresh = path.with_suffix(".new")
    fresh.write_text(token(seconds), encoding="utf-8")
    fresh.rename(path)


class LoginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker(nodes=1, properties=BROKER)
        cls.addClassCleanup(cls.broker.stop)
        file = pathlib.Path(cls.broker.folder) / "node-1.properties"
        cls.bootstrap = re.search(r"SASL_PLAINTEXT://(127[^,\s]+)",
                                  file.read_text(encoding="utf-8")).group(1)

    def setUp(self):
        self.cluster = self.enterContext(Cluster(self.broker, partitions=2))
        self.cluster.topics_apply()
        self.folder = paths.new_folder("login")
        self.token = self.folder / "token"

    def settings(self, mechanism, **more):
        return {"kafka.bootstrap.servers": self.bootstrap,
                "kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": mechanism,
                **{key.replace("_", "."): value for key, value in more.items()}}

    def tokens(self, source, value, **more):
        return self.settings("OAUTHBEARER", **{f"kafka_sasl_oauthbearer_token_{source}": value},
                             **more)

    def script(self, text):
        """A program that runs these lines of shell."""
        path = self.folder / "get-token"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def check(self, settings):
        """(exit code, standard error) of `topics check` with these settings."""
        config = self.folder / "check.properties"
        write_properties(config, {"topics.prefix": self.cluster.prefix, **settings})
        done = subprocess.run([str(paths.reeve_binary()), "topics", "check", "--config", config],
                              capture_output=True, text=True, check=False, timeout=90)
        self.assertNotIn(CANARY, done.stdout + done.stderr)
        return done.returncode, done.stderr.strip()

    def start(self, settings, ready=True):
        return self.cluster.add("scheduler", properties=settings, ready=ready)

    def messages(self, service, message):
        lines = [json.loads(line) for line in service.stderr.splitlines() if line.startswith("{")]
        return [line for line in lines if line["message"] == message]

    # ---- names and passwords ----

    def test_scram_works_or_is_refused_with_the_reason(self):
        self.broker.tool("kafka.admin.ConfigCommand", "--alter", "--entity-type", "users",
                         "--entity-name", "ann", "--add-config", "SCRAM-SHA-256=[password=right]")
        settings = self.settings("SCRAM-SHA-256", kafka_sasl_username="ann",
                                 kafka_sasl_password="right")
        if confluent_kafka.libversion()[1] >= SCRAM_FIXED_IN:
            self.assertEqual(self.check(settings)[0], 0)
            self.start(settings).terminate()
            return
        code, said = self.check(settings)
        self.assertEqual(code, 78)
        self.assertRegex(said, r"^reeve: kafka\.sasl\.mechanism = SCRAM-SHA-256 does not work from "
                               r"Kafka 4 on with librdkafka \S+, .* \(fixed in librdkafka 2\.6\.1\)"
                               r"[^\n]*invalid credentials[^\n]*$")
        service = self.start(settings, ready=False)
        self.assertEqual(service.wait_end(60), 78, service.tail())
        self.assertEqual(len(self.messages(service, "cannot start")), 1)
        self.assertEqual(service.stderr.count("invalid credentials"), 1, service.tail())
        self.assertIn("fixed in librdkafka 2.6.1", service.stderr)

    def test_a_wrong_password_is_called_one(self):
        settings = self.settings("PLAIN", kafka_sasl_username="ann", kafka_sasl_password="wrong",
                                 start_timeout_ms="4s")
        self.assertEqual(self.check(settings), (
            69, "reeve: cannot log in to Kafka: SASL authentication error: Authentication failed: "
                "Invalid username or password"))
        service = self.start(settings, ready=False)
        self.assertEqual(service.wait_end(60), 69, service.tail())
        self.assertEqual(len(self.messages(service, "kafka refuses the login")), 1, service.tail())
        self.assertIn("Invalid username or password",
                      self.messages(service, "cannot start")[0]["error"])

    def test_access_rules_need_an_authorizer(self):
        done = self.cluster.reeve("topics", "acl", "--apply", check=False)
        self.assertEqual((done.returncode, done.stdout), (65, ""))
        self.assertRegex(done.stderr, r"^reeve: the brokers have no authorizer [^\n]*\n$")

    # ---- tokens ----

    def test_tokens_that_cannot_be_had_are_reported_in_one_line(self):
        write_token(self.token, -5)
        failing = self.script(f"echo {CANARY}; echo 'the issuer is away' >&2; exit 3")
        cases = (
            (self.tokens("file", self.token), "gave a token that expired at 20"),
            (self.tokens("file", self.folder / "none"), "none: No such file or directory"),
            (self.tokens("command", "/no/such/program"), "cannot run /no/such/program: No such"),
            (self.tokens("command", failing), "ended with exit code 3: the issuer is away"),
            (self.tokens("command", "echo -n"), "echo gave no token"),
            (self.tokens("command", f"echo {CANARY} $HOME"), "echo gave more than a token"),
            (self.tokens("command", "sleep 600", kafka_sasl_oauthbearer_token_timeout_ms=300),
             "sleep did not end within 300 ms and was killed"),
            (self.tokens("command", f"echo {CANARY}"), '{"status":"invalid_token"}'),
        )
        for settings, reason in cases:
            code, said = self.check(settings)
            self.assertEqual(code, 69, said)
            self.assertRegex(said, r"^reeve: cannot log in to Kafka: [^\n]*"
                                   + re.escape(reason) + r"[^\n]*$")

    def test_a_command_runs_once_for_all_clients_of_a_service(self):
        write_token(self.token, 3600)
        command = self.script(f"echo run >>{self.folder}/runs; cat {self.token}")
        settings = self.tokens("command", command)
        self.assertEqual(self.check(settings)[0], 0)
        (self.folder / "runs").unlink()
        service = self.start(settings)
        self.assertEqual(service.get("/readyz")[0], 200)
        # One by the service's clients, one by the check of the topics' settings at its start.
        self.assertEqual((self.folder / "runs").read_text(encoding="utf-8"), "run\n" * 2)
        arguments = pathlib.Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
        service.terminate()
        self.assertNotIn(CANARY, service.stderr + arguments.decode())

    def test_a_service_outlives_its_tokens(self):
        """It reads a new one before the old one expires; it stops for the time without a token."""
        lifetime = 20
        write_token(self.token, lifetime)
        service = self.start(self.tokens("file", self.token))
        began = renewed = time.monotonic()

        def passed():
            nonlocal renewed
            now = time.monotonic()
            if now > renewed + lifetime / 2:
                write_token(self.token, lifetime)
                renewed = now
            return now > began + 2 * lifetime

        wait_for("two lifetimes pass", passed, 4 * lifetime)
        service.wait_ready(30)
        for message in ("cannot get a token for Kafka", "kafka refuses the login"):
            self.assertEqual(self.messages(service, message), [], service.tail())

        wait_for(lambda: f"it is reported:\n{service.tail()}", lambda: self.messages(
            service, "cannot get a token for Kafka"), 4 * lifetime)
        wait_for("the last connection ends", lambda: service.get("/readyz")[0] == 503,
                 4 * lifetime)
        self.assertRegex(service.get("/readyz")[1], "^cannot log in to Kafka: ")
        (failed,) = self.messages(service, "cannot get a token for Kafka")
        self.assertRegex(failed["reason"], f"^{self.token} gave a token that expired at ")

        write_token(self.token, 600)
        service.wait_ready(60)
        self.assertEqual(len(self.messages(service, "got a token for Kafka again")), 1)
        self.assertEqual(len(self.messages(service, "cannot get a token for Kafka")), 1)
        service.terminate()
        self.assertNotIn(CANARY, service.stderr)

    def test_a_hanging_command_delays_neither_the_loop_nor_the_end(self):
        write_token(self.token, 20)
        hang = self.folder / "hang"
        command = self.script(
            f"if [ -e {hang} ]; then echo $$ >{hang}; exec sleep 600; fi; cat {self.token}")
        service = self.start(self.tokens("command", command,
                                         kafka_sasl_oauthbearer_token_timeout_ms="60s"))
        hang.touch()
        pid = int(wait_for("the command hangs",
                           lambda: hang.read_text(encoding="utf-8").strip(), 60))
        began = time.monotonic()
        self.assertIsNotNone(service.get("/livez", seconds=2)[0])
        self.assertLess(time.monotonic() - began, 2)
        service.terminate(20)
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)


if __name__ == "__main__":
    unittest.main()
