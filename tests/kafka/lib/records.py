# SPDX-License-Identifier: Apache-2.0
"""Records of reeve's topics, decoded by an independent Avro implementation (fastavro) with the
schemas/*.avsc files alone, as a third-party client would."""

import dataclasses
import functools
import io
import json
import time
import typing

import confluent_kafka
import fastavro
import fastavro.read
import fastavro.schema

from . import paths
from .waiting import wait_for

# Times stay int milliseconds, as on the wire, so that tests can compare them.
for _name in ("long-timestamp-millis", "long-timestamp-micros", "long-local-timestamp-millis"):
    fastavro.read.LOGICAL_READERS.pop(_name, None)

SINGLE_OBJECT = b"\xc3\x01"


@dataclasses.dataclass
class Record:
    """One Kafka record. type is the Avro record's short name, value its fields as a dict; a record
    within a union has its short name under "_type". Both are None if the bytes are not Avro."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: typing.Optional[str]
    headers: dict
    raw: typing.Optional[bytes]
    type: typing.Optional[str] = None
    value: typing.Optional[dict] = None


class Schemas:
    """Schemas by their fingerprint (CRC-64-AVRO, little-endian bytes) and by their short name."""

    def __init__(self):
        self.by_fingerprint, self.by_name = {}, {}

    def add(self, text):
        schema = fastavro.parse_schema(json.loads(text))
        canonical = fastavro.schema.to_parsing_canonical_form(schema)
        crc = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
        self.by_fingerprint[bytes.fromhex(crc)] = schema
        if isinstance(schema, dict) and "name" in schema:
            self.by_name[schema["name"].rsplit(".", 1)[-1]] = (schema, bytes.fromhex(crc))
        return schema

    def encode(self, name, value):
        """Single-object bytes of the record type with that short name."""
        schema, fingerprint = self.by_name[name]
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, value)
        return SINGLE_OBJECT + fingerprint + out.getvalue()

    def decode(self, raw):
        """(short name, value) of single-object bytes; (None, None) for other bytes."""
        if raw is None or raw[:2] != SINGLE_OBJECT or raw[2:10] not in self.by_fingerprint:
            return None, None
        schema = self.by_fingerprint[raw[2:10]]
        source = io.BytesIO(raw[10:])
        try:
            value = fastavro.schemaless_reader(source, schema, return_record_name=True)
        except (EOFError, IndexError, ValueError):  # truncated, or not Avro
            return None, None
        if source.read(1):  # more than one record
            return None, None
        return schema["name"].rsplit(".", 1)[-1], plain(value)


def plain(value):
    """fastavro's (name, record) pairs of unions as dicts with "_type"."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return {"_type": value[0].rsplit(".", 1)[-1], **plain(value[1])}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@functools.lru_cache(maxsize=1)
def local_schemas():
    """All of schemas/*.avsc; each file is complete by itself."""
    schemas = Schemas()
    for path in sorted(paths.SCHEMAS.glob("*.avsc")):
        schemas.add(path.read_text(encoding="utf-8"))
    return schemas


def to_record(message, schemas):
    key = message.key()
    record = Record(
        topic=message.topic(), partition=message.partition(), offset=message.offset(),
        timestamp_ms=message.timestamp()[1], key=key.decode(errors="replace") if key else None,
        headers=dict(message.headers() or []), raw=message.value(),
    )
    record.type, record.value = schemas.decode(record.raw)
    return record


# Errors that librdkafka recovers from: a broker died, a leader is being elected, or a broker does
# not know a new topic yet.
TRANSIENT = {confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
           confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
           confluent_kafka.KafkaError.LEADER_NOT_AVAILABLE,
           confluent_kafka.KafkaError._TRANSPORT, confluent_kafka.KafkaError._TIMED_OUT,
           confluent_kafka.KafkaError._ALL_BROKERS_DOWN}


ANSWER_SECONDS = 2


def watermarks(consumer, partition, seconds):
    """(low, high) from the partition's leader.

    get_watermark_offsets() in librdkafka before 2.3 ignores its timeout while the leader is down.
    A new topic has no leader for a moment.
    """
    def ask(logical):
        query = confluent_kafka.TopicPartition(partition.topic, partition.partition, logical)
        try:
            (answer,) = consumer.offsets_for_times([query], timeout=ANSWER_SECONDS)
        except confluent_kafka.KafkaException as error:
            if error.args[0].code() in TRANSIENT:
                return None
            raise
        if answer.error is not None and answer.error.code() not in TRANSIENT:
            raise confluent_kafka.KafkaException(answer.error)
        return answer if answer.error is None else None

    def answer(logical):
        return wait_for(f"an answer from the leader of {partition.topic}/{partition.partition}",
                        lambda: ask(logical), seconds).offset

    return answer(confluent_kafka.OFFSET_BEGINNING), answer(confluent_kafka.OFFSET_END)


def poll(consumer, seconds):
    """The next record, ignoring transient errors; None after that many seconds without one."""
    deadline = time.monotonic() + seconds
    while True:
        message = consumer.poll(max(0, deadline - time.monotonic()))
        if message is None or not message.error():
            return message
        if message.error().code() not in TRANSIENT:
            raise AssertionError(f"{message.topic()}: {message.error()}")


def read_topic(bootstrap, topic, schemas=None, partitions=None, seconds=30):
    """All records in the topic at the time of the call, ordered by partition and offset.

    The consumer joins no group and commits nothing.
    """
    schemas = schemas or local_schemas()
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False,
        "auto.offset.reset": "error", "fetch.wait.max.ms": 20,
    })
    try:
        described = consumer.list_topics(topic, timeout=seconds).topics[topic]
        if described.error is not None:
            raise AssertionError(f"{topic}: {described.error}")
        ends, start = {}, []
        for number in described.partitions if partitions is None else partitions:
            partition = confluent_kafka.TopicPartition(topic, number)
            low, high = watermarks(consumer, partition, seconds)
            if low < high:
                ends[number] = high
                start.append(confluent_kafka.TopicPartition(topic, number, low))
        if not start:
            return []
        consumer.assign(start)
        records = []
        while ends:
            # consume() waits for the whole timeout unless the batch fills.
            first = poll(consumer, seconds)
            if first is None:
                raise AssertionError(f"{topic}: the end was not reached within {seconds} s: {ends}")
            for message in [first, *consumer.consume(num_messages=10000, timeout=0)]:
                if message.error() and message.error().code() in TRANSIENT:
                    continue
                if message.error():
                    raise AssertionError(f"{topic}: {message.error()}")
                end = ends.get(message.partition())
                if end is None or message.offset() >= end:
                    continue
                records.append(to_record(message, schemas))
                if message.offset() + 1 >= end:
                    del ends[message.partition()]
        return sorted(records, key=lambda r: (r.partition, r.offset))
    finally:
        consumer.close()
