# SPDX-License-Identifier: Apache-2.0
"""payment.py keeps the promises of docs/use/remote-services.md."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import payment


def body(direction="do", quantity=1, number=1):
    return {"direction": direction, "do_key": f"{number}/TakePayment/do/0",
            "order": {"lines": [{"quantity": quantity, "unit_price": "4.50"}]}}


class PaymentTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/payments.sqlite"
        self.ledger = payment.Ledger(self.path)

    def test_a_repeat_gets_the_first_answer(self):
        self.assertEqual(self.ledger.answer(body()), (200, {"paid": "4.50"}))
        self.assertEqual(self.ledger.answer(body(quantity=2)), (200, {"paid": "4.50"}))

    def test_a_repeat_of_a_refusal_is_refused(self):
        status, refusal = self.ledger.answer(body(quantity=200))
        self.assertEqual((status, refusal["error"]), (422, "PaymentDeclined"))
        self.assertEqual(self.ledger.answer(body()), (status, refusal))

    def test_answers_survive_a_restart(self):
        self.ledger.answer(body())
        again = payment.Ledger(self.path)
        self.assertEqual(again.answer(body(quantity=2)), (200, {"paid": "4.50"}))

    def test_an_undo_takes_back_what_was_paid(self):
        self.ledger.answer(body())
        for _ in range(2):
            self.assertEqual(self.ledger.answer(body("undo")), (200, {"refunded": True}))

    def test_an_undo_of_nothing_succeeds_and_bars_the_do(self):
        self.assertEqual(self.ledger.answer(body("undo")), (200, {"refunded": False}))
        self.assertEqual(self.ledger.answer(body())[0], 422)

    def test_an_undo_of_a_refusal_refunds_nothing(self):
        self.ledger.answer(body(quantity=200))
        self.assertEqual(self.ledger.answer(body("undo")), (200, {"refunded": False}))


if __name__ == "__main__":
    unittest.main()
