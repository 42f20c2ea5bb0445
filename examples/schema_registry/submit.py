#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Submits an order with Confluent's serializer and follows it with Confluent's deserializer.

    submit.py BOOTSTRAP REGISTRY ORDER_ID [WORKFLOW]

The replies topic is <prefix>.replies.web of the prefix `orders`. Exits with 0 if the order was
processed. Needs confluent-kafka[avro,schemaregistry].
"""

import decimal
import pathlib
import sys
import uuid

import confluent_kafka
from confluent_kafka.schema_registry import SchemaRegistryClient, record_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schemas/SubmitOrder.avsc"
SUBMISSIONS, REPLIES = "orders.submissions", "orders.replies.web"
ENDS = ("Processed", "Compensated", "Error")


def submit(bootstrap, registry, order):
    # Several types of record go to this topic: the subject is named after the record.
    serialize = AvroSerializer(registry, SCHEMA.read_text(),
                               conf={"subject.name.strategy": record_subject_name_strategy})
    producer = confluent_kafka.Producer({
        "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True,
        "partitioner": "murmur2_random"})
    value = serialize(order, SerializationContext(SUBMISSIONS, MessageField.VALUE))
    producer.produce(SUBMISSIONS, value, order["order_id"])
    producer.flush(30)


def follow(bootstrap, registry, order_id):
    deserialize = AvroDeserializer(registry)  # with the schema that the id names
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": f"web-{uuid.uuid4()}",
        "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([REPLIES])
    version = -1
    while True:
        message = consumer.poll(1)
        if message is None or message.error() is not None or message.key().decode() != order_id:
            continue
        status = deserialize(message.value(), SerializationContext(REPLIES, MessageField.VALUE))
        if status["order_version"] <= version and status["kind"] != "Rejected":
            continue  # seen before
        version = status["order_version"]
        print(status["kind"], status["order_state"], status["code"], status["message"], flush=True)
        if status["order_state"] in ENDS or status["kind"] == "Rejected":
            consumer.close()
            return status["order_state"] == "Processed"


def main(bootstrap, url, order_id, workflow="three-steps"):
    registry = SchemaRegistryClient({"url": url})
    submit(bootstrap, registry, {
        "order_id": order_id, "customer": "17850", "currency": "GBP",
        "lines": [{"sku": "85123A", "description": "T-LIGHT HOLDER", "quantity": 6,
                   "unit_price": decimal.Decimal("2.5500")}],
        "workflow": workflow, "reply_to": REPLIES})
    return 0 if follow(bootstrap, registry, order_id) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
