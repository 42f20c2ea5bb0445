# SPDX-License-Identifier: Apache-2.0
"""Tests of the client without Kafka: python3 -m unittest discover -s examples/third_party_client"""

import contextlib
import datetime
import decimal
import io
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import avro_wire
import submit

ORDER = json.loads((pathlib.Path(__file__).parent / "order.json").read_text(encoding="utf-8"))


def status(kind, state, version, offset, **more):
    return {"order_id": "1", "kind": kind, "order_state": state, "order_version": version,
            "decided_at": datetime.datetime(2010, 12, 1, 8, 26, 0, 7000, datetime.timezone.utc),
            "command_partition": 0, "command_offset": offset, "code": "", "message": "",
            "steps": [], **more}


class AvroWire(unittest.TestCase):
    def test_fingerprints_of_the_specification(self):
        for canonical, fingerprint in ((b'"null"', 7195948357588979594),
                                       (b'"boolean"', -6970731678124411036),
                                       (b'"int"', 8247732601305521295),
                                       (b'"long"', -3434872931120570953),
                                       (b'"string"', -8142146995180207161)):
            self.assertEqual(avro_wire.crc_64_avro(canonical), fingerprint % 2**64)

    def test_canonical_form(self):
        schema = {
            "type": "record", "name": "R", "namespace": "a.b", "doc": "left out", "fields": [
                {"name": "when", "default": None, "type": [
                    "null", {"type": "long", "logicalType": "timestamp-millis"}]},
                {"name": "kind", "doc": "", "type": {
                    "name": "Kind", "type": "enum", "symbols": ["x", "y"], "default": "x"}},
                {"name": "again", "type": {"type": "map", "values": "Kind"}},
                {"name": "id", "type": {"size": 16, "type": "fixed", "name": "other.Id"}},
                {"name": "ids", "type": {"items": "other.Id", "type": "array"}}]}
        self.assertEqual(avro_wire.canonical_form(schema), (
            '{"name":"a.b.R","type":"record","fields":[{"name":"when","type":["null","long"]},'
            '{"name":"kind","type":{"name":"a.b.Kind","type":"enum","symbols":["x","y"]}},'
            '{"name":"again","type":{"type":"map","values":"a.b.Kind"}},'
            '{"name":"id","type":{"name":"other.Id","type":"fixed","size":16}},'
            '{"name":"ids","type":{"type":"array","items":"other.Id"}}]}'))

    def test_a_message_of_another_schema_is_refused(self):
        schema = avro_wire.Schema.from_file(submit.SCHEMAS / "SubmitOrder.avsc")
        other = avro_wire.Schema.from_file(submit.SCHEMAS / "StatusUpdate.avsc")
        message = schema.encode(submit.submit_order(ORDER, ""))
        for wrong in (b"", b"\xc3\x01", b"\x00" + message[1:], message[:9]):
            with self.assertRaises(ValueError):
                schema.decode(wrong)
        with self.assertRaises(ValueError):
            other.decode(message)


class SubmitOrder(unittest.TestCase):
    def test_an_order_survives_the_wire(self):
        schema = avro_wire.Schema.from_file(submit.SCHEMAS / "SubmitOrder.avsc")
        order = schema.decode(schema.encode(submit.submit_order(ORDER, "orders.replies.web")))
        self.assertEqual(order["order_id"], "536365")
        self.assertEqual(order["reply_to"], "orders.replies.web")
        self.assertEqual([line["unit_price"] for line in order["lines"][:3]],
                         [decimal.Decimal(price) for price in ("2.55", "3.39", "2.75")])
        self.assertEqual(sum(line["quantity"] for line in order["lines"]), 40)

    def test_prices_have_four_decimals_on_the_wire(self):
        line = {"sku": "1", "quantity": 1, "unit_price": "2.5"}
        record = submit.submit_order({**ORDER, "lines": [line]}, "")
        message = avro_wire.Schema.from_file(submit.SCHEMAS / "SubmitOrder.avsc").encode(record)
        self.assertIn(b"\x021\x00\x02\x04\x61\xa8", message)  # 25000 in two bytes

    def test_a_price_that_does_not_fit_the_schema_is_an_error(self):
        for price, error in (("0.00001", decimal.Inexact), ("1e30", decimal.InvalidOperation),
                             ("free", decimal.InvalidOperation)):
            line = {"sku": "1", "quantity": 1, "unit_price": price}
            with self.subTest(price=price), self.assertRaises(error):
                submit.submit_order({**ORDER, "lines": [line]}, "")


class Follow(unittest.TestCase):
    def follow(self, *statuses):
        class Canned:
            @staticmethod
            def statuses(_order_id, _seconds):
                return iter(statuses)

        self.out, self.err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(self.out), contextlib.redirect_stderr(self.err):
            return submit.follow(Canned, "1", 1)

    def test_follows_an_order_to_its_end(self):
        step = {"step": "TakePayment", "direction": "undo", "attempt": 2, "state": "Processing",
                "error_name": "States.Timeout"}
        self.assertEqual(self.follow(
            status("Received", "Processing", 1, 0),
            status("Compensating", "Compensating", 3, 2, steps=[step], code="PaymentDeclined",
                   message="no"),
            status("StepChanged", "Processing", 2, 1),  # overtaken
            status("Compensated", "Compensated", 4, 3)), submit.COMPENSATED)
        self.assertEqual(self.out.getvalue().splitlines()[1:], [
            "08:26:00.007 1 v3 Compensating (Compensating) "
            "[TakePayment undo #2 Processing States.Timeout] PaymentDeclined no",
            "08:26:00.007 1 v4 Compensated (Compensated)"])

    def test_ends(self):
        for statuses, code in (
                ((status("Processed", "Processed", 9, 9),), submit.PROCESSED),
                ((status("Repeated", "Compensated", 9, 9),), submit.COMPENSATED),
                ((status("Rejected", "Pending", 0, 0, code="UnknownWorkflow"),), submit.REJECTED),
                ((status("Error", "Error", 5, 5),), submit.IN_ERROR),
                ((status("Received", "Processing", 1, 0),
                  status("Rejected", "Processing", 1, 1)), submit.TIMED_OUT),
                ((), submit.TIMED_OUT)):
            with self.subTest(code=code):
                self.assertEqual(self.follow(*statuses), code)


if __name__ == "__main__":
    unittest.main()
