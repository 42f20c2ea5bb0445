#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An agent without reeve's libraries: a Kafka client and three .avsc files. It performs every step
that it is asked for at once; put your own work into perform(). docs/use/agents-other-languages.md
explains each line. Stop it with SIGTERM or Ctrl-C.

    agent.py 127.0.0.1:9092 orders tax
"""

import datetime
import os
import pathlib
import signal
import socket
import sys

from confluent_kafka import Consumer, Producer

from avro_wire import Schema

HEARTBEAT_SECONDS = 2.0
SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "schemas"
REQUEST, REPORT, HEALTH = (Schema.from_file(SCHEMAS / f"{name}.avsc")
                           for name in ("StepRequest", "ReportStep", "AgentHealth"))


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def may_begin(request):
    """Not after its deadline, and not for more time, which is for an operation that is running."""
    return not request["extension"] and now() < request["complete_by"]


def perform(request):
    """One operation, named by request["idempotency_key"]: perform it once, however often it comes.
    An undo takes back what was done under request["do_key"]."""
    return {"succeeded": True, "output": '{"tax": "4.20"}'}


def health(agent, instance, partitions):
    return {"agent": agent, "instance": instance, "capacity": 10, "in_flight": 0, "queued": 0,
            "partitions": partitions, "latency_p50_ms": 0, "latency_p95_ms": 0,
            "errors_permille": 0, "circuit": "", "version": "example", "last_error": "",
            "heartbeat_ms": int(HEARTBEAT_SECONDS * 1000),
            "reported_at": now()}


def report(request, agent, instance, result):
    return {"order_id": request["order_id"], "step": request["step"],
            "direction": request["direction"], "attempt": request["attempt"],
            "output": "", "error_name": "", "error_message": "", "effect": "unknown",
            "agent": agent, "instance": instance, **result}


def main(bootstrap, prefix, agent):
    instance = f"{socket.gethostname()}-{os.getpid()}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True,
                         "partitioner": "murmur2_random"})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.agent.{agent}",
                         "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    requests, reports = f"{prefix}.requests.{agent}", f"{prefix}.commands"
    agents, key = f"{prefix}.agents", f"{instance}/{agent}"
    try:
        # The excerpt in docs/use/agents-other-languages.md begins here.
        consumer.subscribe([requests])
        while True:
            messages = consumer.consume(100, HEARTBEAT_SECONDS / 2)
            for message in messages:
                if message.error():
                    raise SystemExit(str(message.error()))
                request = REQUEST.decode(message.value())
                if may_begin(request):  # no extension, and not after complete_by
                    result = report(request, agent, instance, perform(request))
                    producer.produce(reports, key=request["order_id"], value=REPORT.encode(result))
            producer.produce(agents, key=key, value=HEALTH.encode(
                health(agent, instance, len(consumer.assignment()))))
            if producer.flush(30) > 0:
                raise SystemExit("the reports were not acknowledged")
            if messages:  # only now: a crash before this repeats the requests
                consumer.commit(asynchronous=False)
        # It ends here.
    except KeyboardInterrupt:
        producer.produce(agents, key=key, value=None)  # this instance is gone
        producer.flush(10)
        consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
