#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Submits an order to reeve and follows it to its end, with a plain Kafka client.

    submit.py --bootstrap 127.0.0.1:9092 --app web-shop order.json
    submit.py --bootstrap 127.0.0.1:9092 --app web-shop --order-id test-1 order.json

It uses only two files of reeve, schemas/SubmitOrder.avsc and StatusUpdate.avsc: any language with a
Kafka client and Avro can do the same. It needs Debian's python3-confluent-kafka and
python3-avro.

order.json has the fields of SubmitOrder; prices are strings ("2.55"), and fields with a default may
be left out. reply_to is set to the application's own topic PREFIX.replies.APP, which is created if
it does not exist.

Exit code: 0 processed, 3 compensated, 4 rejected, 5 in error (waits for an operator), 6 not ended
within --timeout; 1 no answer from Kafka, 2 wrong usage.
"""

import argparse
import datetime
import decimal
import json
import pathlib
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from avro_wire import Schema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "schemas"
PROCESSED, COMPENSATED, REJECTED, IN_ERROR, TIMED_OUT = 0, 3, 4, 5, 6
ENDS = {"Processed": PROCESSED, "Compensated": COMPENSATED, "Error": IN_ERROR}
# unit_price in SubmitOrder.avsc: 18 digits, 4 of them behind the point. No price is ever rounded.
PRICE_STEP = decimal.Decimal("0.0001")
PRICES = decimal.Context(prec=18, traps=[decimal.Inexact, decimal.InvalidOperation])
UNKNOWN_TIME = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)


def submit_order(order, reply_to):
    """The SubmitOrder record of an order read from JSON. python3-avro writes no defaults, so all
    fields are spelled out here."""
    lines = [{"sku": line["sku"], "description": line.get("description", ""),
              "quantity": line["quantity"],
              # python3-avro takes the digits as they are: they must have the schema's scale.
              "unit_price": PRICES.quantize(decimal.Decimal(line["unit_price"]), PRICE_STEP)}
             for line in order.get("lines", [])]
    return {"order_id": order["order_id"], "customer": order.get("customer", ""),
            "currency": order.get("currency", ""), "lines": lines,
            "attributes": order.get("attributes", {}),
            "priority": order.get("priority", "normal"), "reply_to": reply_to,
            "workflow": order["workflow"], "workflow_version": order.get("workflow_version", 0),
            "traceparent": order.get("traceparent", ""),
            "input": json.dumps(order["input"]) if "input" in order else "",
            # The service fills them in.
            "content_hash": None, "submitted_by": "", "submitted_at": UNKNOWN_TIME}


class Application:
    """An application with a reply topic of its own."""

    def __init__(self, bootstrap, prefix, app, schemas):
        self._bootstrap = bootstrap
        self._submissions = f"{prefix}.submissions"
        self.reply_to = f"{prefix}.replies.{app}"
        self._submit_order = Schema.from_file(schemas / "SubmitOrder.avsc")
        self._status_update = Schema.from_file(schemas / "StatusUpdate.avsc")

    def __enter__(self):
        self._consumer = Consumer({
            "bootstrap.servers": self._bootstrap,
            "group.id": self.reply_to,  # the client wants one; this program joins no group
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        })
        return self

    def __exit__(self, *_):
        self._consumer.close()

    def listen(self):
        """Makes the reply topic if need be and reads it from its end on. Before the submission: no
        status is missed. (A program that must survive a restart joins a group instead.)"""
        known = self._consumer.list_topics(timeout=10).topics
        if self._submissions not in known:
            raise LookupError(f"there is no topic {self._submissions}")
        if self.reply_to not in known:
            self._make_reply_topic()
        self._consumer.assign(self._ends_of(self.reply_to))

    def _make_reply_topic(self):
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        for made in admin.create_topics([NewTopic(self.reply_to, 1, -1)]).values():
            try:
                made.result(30)
            except KafkaException as error:  # another process of the application was faster
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def _ends_of(self, topic):
        """Where each partition ends now. A topic that was just made takes a moment to be served."""
        deadline = time.monotonic() + 10
        while True:
            try:
                described = self._consumer.list_topics(topic, timeout=10).topics[topic]
                if described.error is not None:
                    raise KafkaException(described.error)
                ends = []
                for number in described.partitions:
                    partition = TopicPartition(topic, number)
                    _, end = self._consumer.get_watermark_offsets(partition, timeout=10)
                    ends.append(TopicPartition(topic, number, end))
                return ends
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def submit(self, order):
        """Returns once the brokers have stored the order. Repeating it is harmless: the same id and
        content is answered with the order's current status."""
        producer = Producer({
            "bootstrap.servers": self._bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "partitioner": "murmur2_random",  # that of Java's client; librdkafka's own differs
            "message.max.bytes": 1048576,
        })
        errors = []
        producer.produce(self._submissions, key=order["order_id"],
                         value=self._submit_order.encode(submit_order(order, self.reply_to)),
                         on_delivery=lambda error, _: errors.append(error))
        producer.flush(30)
        if errors != [None]:
            raise KafkaException(*errors) if errors else TimeoutError("not acknowledged")

    def statuses(self, order_id, seconds):
        """What reeve says of the order, each thing once, until the time is over."""
        seen = set()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if message is None:
                return
            if message.error():
                raise KafkaException(message.error())
            if message.key() != order_id.encode():
                continue
            status = self._status_update.decode(message.value())
            # Delivery is at-least-once; the position of the Decision tells repeats. A refused
            # submission has none; there it is the position of the submission.
            position = (status["command_partition"], status["decision_offset"],
                        None if status["decision_offset"] >= 0 else status["command_offset"])
            if position not in seen:
                seen.add(position)
                yield status


def follow(application, order_id, seconds):
    """Prints each status; returns the exit code. A Rejected that comes first is about this
    submission; later ones are about other commands, and the order continues."""
    accepted = False
    newest = -1
    for status in application.statuses(order_id, seconds):
        if status["order_version"] < newest:
            continue  # overtaken by a later one
        newest = status["order_version"]
        print(describe(status), flush=True)
        accepted = accepted or status["kind"] != "Rejected"
        if not accepted:
            return REJECTED
        if status["kind"] != "Rejected" and status["order_state"] in ENDS:
            return ENDS[status["order_state"]]
    print(f"{order_id} has not ended within {seconds:g} s", file=sys.stderr)
    return TIMED_OUT


def describe(status):
    words = [f"{status['decided_at']:%H:%M:%S.%f}"[:-3], status["order_id"],
             f"v{status['order_version']}", status["kind"], f"({status['order_state']})"]
    for step in status["steps"]:
        undo = " undo" if step["direction"] == "undo" else ""
        error = f" {step['error_name']}" if step["error_name"] else ""
        words.append(f"[{step['step']}{undo} #{step['attempt']} {step['state']}{error}]")
    words += [text for text in (status["code"], status["message"]) if text]
    return " ".join(words)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("order", type=pathlib.Path, metavar="order.json")
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT[,...]")
    parser.add_argument("--app", required=True, help="name of the submitting application")
    parser.add_argument("--prefix", default="orders", help="of the topics (default orders)")
    parser.add_argument("--order-id", help="instead of the one in the file")
    parser.add_argument("--schemas", type=pathlib.Path, default=SCHEMAS,
                        help="folder of the .avsc files (default: those of this repository)")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS",
                        help="how long to follow the order (default 60)")
    return parser.parse_args(argv)


def main():
    arguments = parse_arguments(sys.argv[1:])
    order = json.loads(arguments.order.read_text(encoding="utf-8"))
    if arguments.order_id:
        order["order_id"] = arguments.order_id
    with Application(arguments.bootstrap, arguments.prefix, arguments.app,
                     arguments.schemas) as application:
        application.listen()
        application.submit(order)
        return follow(application, order["order_id"], arguments.timeout)


if __name__ == "__main__":
    sys.exit(main())
