# SPDX-License-Identifier: Apache-2.0
"""Measures the crash of a scheduler, for test_standby.py and tests/bench/takeovers.py."""

import contextlib
import decimal
import json
import threading
import time

import confluent_kafka

from . import records
from .cluster import Cluster
from .stage import Tail
from .waiting import millis, wait_for


def restart(crowd, service):
    """Kills a scheduler and starts it again immediately, while orders come in. Returns
    first_order_ms: until the first order of one of its partitions was Processed, by append time;
    assigned_ms: until its partitions were assigned to it, by its own clock;
    claims_ms: until the last of its Claims, by append time;
    folded: how many records it folded before and for them."""
    producer = confluent_kafka.Producer({
        "bootstrap.servers": crowd.broker.bootstrap, "acks": "all", "enable.idempotence": True,
        "partitioner": "murmur2_random"})
    # Not crowd.look(): with many open orders, what came before takes minutes to read and check.
    tail = Tail(crowd.broker.bootstrap, crowd.cluster.topic("events"), from_end=True)

    def submit(count):
        names = [crowd.name_for() for _ in range(count)]
        for name in names:
            producer.produce(crowd.cluster.topic("submissions"), key=name,
                             value=records.local_schemas().encode("SubmitOrder", crowd.order(name)))
        assert producer.flush(60) == 0, "orders cannot be submitted"
        return names

    def processed(names):
        return [record for record in tail.look() if record.type == "Decision" and
                record.value["order_state"] == "Processed" and record.value["order_id"] in names]

    def wait_until_processed(names):
        wait_for(lambda: f"{len(names)} orders are Processed, {len(processed(names))} are:\n"
                         f"{service.tail()}", lambda: len(processed(names)) == len(names), 60)

    try:
        # A new client may need half a second before its first record.
        wait_until_processed(submit(1))
        known = {message: len(lines_of(service, message))
                 for message in ("partitions assigned", "partition claimed")}
        begun_ms = time.time() * 1000
        service.sigkill()
        service.start(ready=False)
        names = submit(30)
        wait_until_processed(names)
        claims = {record.partition: record.timestamp_ms for record in tail.look()
                  if record.type == "Claim" and record.value["instance"] == service.name}
        assigned, *_ = lines_of(service, "partitions assigned")[known["partitions assigned"]:]
        lines = lines_of(service, "partition claimed")[known["partition claimed"]:]
        return {
            "first_order_ms": round(min(record.timestamp_ms for record in processed(names)
                                        if record.partition in claims) - begun_ms),
            "assigned_ms": round(millis(assigned["time"]) - begun_ms),
            "claims_ms": round(max(claims.values()) - begun_ms),
            "folded": sum(line["folded"] for line in lines)}
    finally:
        tail.close()


# What open orders stand in.
LONG_STEPS = {"call": {"Agent": "mute", "TimeoutSeconds": 777600},
              "wait": {"Wait": {"Seconds": 777600}},
              "await": {"Await": {}, "TimeoutSeconds": 777600}}


class Orders(threading.Thread):
    """SubmitOrder commands like those of the submission service, made from one encoded template, so
    that a million takes seconds. As a thread it submits one order every 10 ms."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.topic, self.count, self.ends = cluster.topic("commands"), 0, threading.Event()
        self.producer = confluent_kafka.Producer({
            "bootstrap.servers": cluster.broker.bootstrap, "acks": "all",
            "partitioner": "murmur2_random", "enable.idempotence": True, "linger.ms": 5,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 1000000})
        self.template = records.local_schemas().encode("SubmitOrder", {
            "order_id": "order-########", "customer": "17850", "currency": "GBP",
            "lines": [{"sku": "85123A", "description": "WHITE HANGING HEART", "quantity": 6,
                       "unit_price": decimal.Decimal("2.5500")}] * 2,
            "attributes": {}, "priority": "normal", "reply_to": "", "workflow": "long",
            "workflow_version": 1, "traceparent": "", "content_hash": bytes(16)})

    def submit(self, count=1):
        for _ in range(count):
            self.count += 1
            name = b"order-%08d" % self.count
            while True:
                try:
                    self.producer.produce(
                        self.topic, self.template.replace(b"order-########", name), key=name)
                    break
                except BufferError:
                    self.producer.poll(0.1)
            self.producer.poll(0)

    def run(self):
        while not self.ends.wait(0.01):
            self.submit()

    def finish(self):
        self.ends.set()
        if self.ident is not None:
            self.join(30)
        self.producer.flush(60)


def lines_of(service, message):
    """The service's log lines with this message, as dicts."""
    found = []
    for line in service.stderr.splitlines():
        if line.startswith("{") and message in line:
            entry = json.loads(line)
            if entry.get("message") == message:
                found.append(entry)
    return found


def decided(*services):
    return sum(service.metric("reeve_decisions_total") or 0 for service in services)


def open_orders(crowd, schedulers, count, step="call"):
    """Adds orders that stay open, and waits until the schedulers have decided them."""
    crowd.cluster.reeve("topics", "apply", "--agent", "mute")
    deploy(crowd.cluster, step)
    before, orders = decided(*schedulers), Orders(crowd.cluster)
    orders.submit(count)
    orders.finish()
    wait_for(lambda: f"{count} decided, {decided(*schedulers) - before} are: "
                     f"{[service.tail() for service in schedulers]}",
             lambda: decided(*schedulers) >= before + count, 300 + count // 1000)


def deploy(cluster, step):
    path = cluster.folder / "long.json"
    path.write_text(json.dumps({"Name": "long", "Version": 1, "TimeoutSeconds": 864000, "Steps": [
        {"Name": "Long", **LONG_STEPS[step]}]}), encoding="utf-8")
    cluster.workflow_deploy(path)


class Takeover:
    """Schedulers of one partition. Submits `count` orders that stay open, kills the owner while
    more come in, and measures until its successor continues."""

    def __init__(self, broker, count, session_ms=2000, step="call"):
        self.broker, self.count, self.session_ms = broker, count, session_ms
        self.patience = 300 + count // 1000
        self.next_order = 0
        self.cluster = Cluster(broker, partitions=1, properties={
            "session.timeout.ms": session_ms, "routing.enabled": "false"})
        self.cluster.reeve("topics", "apply", "--agent", "mute")
        deploy(self.cluster, step)

    def stop(self):
        self.cluster.stop()

    def scheduler(self, name, standby):
        return self.cluster.add("scheduler", name, {
            "instance.id": name, "scheduler.standby": standby}, ready=False)

    def open_orders(self, scheduler):
        orders = Orders(self.cluster)
        begun = time.monotonic()
        orders.submit(self.count)
        orders.finish()
        self.next_order = orders.count
        wait_for(lambda: f"{self.count} decided, {decided(scheduler)} are: {scheduler.tail()}",
                 lambda: decided(scheduler) >= self.count, self.patience)
        return time.monotonic() - begun

    def owner_and_standby(self, first, second):
        """(owner, standby), once one scheduler owns the partition and the other has a standby."""
        wait_for(lambda: f"one owns and one has a standby:\n{first.tail()}\n{second.tail()}",
                 lambda: sorted((s.metric("reeve_partitions_running") or 0,
                                 s.metric("reeve_partitions_warm") or 0)
                                for s in (first, second)) == [(0, 1), (1, 0)], self.patience)
        return (second, first) if second.metric("reeve_partitions_running") == 1 else (first,
                                                                                       second)

    @contextlib.contextmanager
    def reader(self):
        consumer = confluent_kafka.Consumer({
            "bootstrap.servers": self.broker.bootstrap, "group.id": "reader",
            "enable.auto.commit": False, "auto.offset.reset": "error"})
        try:
            yield consumer
        finally:
            consumer.close()

    def end_of_log(self, consumer):
        return records.watermarks(consumer, confluent_kafka.TopicPartition(
            self.cluster.topic("events"), 0), 30)[1]

    def read_log(self, start):
        """The records of events[0] from that offset to the current end."""
        with self.reader() as consumer:
            end, found = self.end_of_log(consumer), []
            consumer.assign([confluent_kafka.TopicPartition(
                self.cluster.topic("events"), 0, start)])
            while not found or found[-1].offset + 1 < end:
                message = consumer.poll(30)
                assert message is not None, "the log cannot be read"
                if not message.error():
                    found.append(records.to_record(message, records.local_schemas()))
            return found

    def folded_to(self, service):
        """The next offset that its store has not folded; None: it has no store of the partition."""
        status, body = service.get("/stores", seconds=60)
        rows = json.loads(body)["partitions"] if status == 200 else []
        return rows[0].get("next_event_offset") if rows else None

    def take_over(self, victim, successor):
        """Kills the owner while orders come in. Returns
        folded: how many records the successor folded from the moment at which it was to own the
            partition until it owned it;
        from: the offset at which it had arrived before orders came in (None: it had no store);
        claim: the offset of its Claim;
        claims: the instances of all Claims since orders came in;
        first: the first Decision of the successor; last: the last one of the victim;
        claim_ms, decision_ms: from that one to the Claim and to the first new Decision."""
        start = self.folded_to(successor)
        # /stores may still answer as of a moment before the victim's own Claim.
        with self.reader() as consumer:
            begin = self.end_of_log(consumer)
        claims = len(lines_of(successor, "partition claimed"))
        load = Orders(self.cluster)
        load.count = self.next_order
        before, begun = decided(victim), decided(successor)
        load.start()
        try:
            wait_for("orders come in", lambda: decided(victim) > before + 20, 60)
            victim.sigkill()
            wait_for(lambda: f"{successor.name} takes over:\n{successor.tail()}", lambda: (
                len(lines_of(successor, "partition claimed")) > claims and
                decided(successor) > begun), self.patience, 0.05)
        finally:
            load.finish()
        self.next_order = load.count
        line = lines_of(successor, "partition claimed")[-1]
        claim = line["claim_offset"]
        log = self.read_log(begin)
        last = [r for r in log if r.type == "Decision" and r.offset < claim][-1]
        claimed = next(r for r in log if r.offset == claim)
        first = next(r for r in log if r.type == "Decision" and r.offset > claim)
        return {"folded": line["folded"], "from": start, "claim": claim,
                "claims": [r.value["instance"] for r in log
                           if r.type == "Claim"],
                "claim_id": claimed.value["claim_id"], "last": last.value, "first": first.value,
                "claim_ms": claimed.timestamp_ms - last.timestamp_ms,
                "decision_ms": first.timestamp_ms - last.timestamp_ms}
