# SPDX-License-Identifier: Apache-2.0
"""Checks every reachable state of suborders.pml, and that the model notices each broken rule.

REEVE_MODEL_LARGE=1 adds cases that take minutes and 3 GB.
"""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import checker  # noqa: E402

TIMEOUT_SECONDS = 300

LARGE = os.environ.get("REEVE_MODEL_LARGE", "") not in ("", "0")
MODEL = checker.Model(pathlib.Path(__file__).with_name("suborders.pml"),
                      megabytes=3000 if LARGE else checker.MEGABYTES)

# What happens in each: see the settings in the model. Those left out have their default there.
SOUND = {
    "one item, lost messages and zombies": dict(losses=2, copies=2, takeovers=1, cancels=1,
                                                failures=1, finals=1),
    "one item that is recalled and submitted again": dict(losses=1, copies=1, takeovers=1, early=1,
                                                          timeouts=1, resubmits=1),
    "an operator fails the item, and submits it again": dict(losses=1, copies=1, early=1, hands=1,
                                                             resubmits=1, cancels=1, failures=1),
    "asks that come early": dict(losses=1, copies=1, takeovers=1, early=2, cancels=1, finals=1),
    "sub-orders in Error": dict(losses=1, copies=1, takeovers=1, errors=2, cancels=1),
    "sub-orders that expire, and submissions that are too old": dict(
        losses=2, copies=2, expiries=2, finals=1, cancels=1),
    "submissions that are refused": dict(losses=1, copies=1, takeovers=1, refusals=1, resubmits=1,
                                         cancels=1),
    "a parent whose id is used again": dict(losses=1, copies=1, takeovers=1, again=1, expiries=1,
                                            finals=1, cancels=1),
    "a reset": dict(losses=1, copies=1, takeovers=1, early=1, resets=1, cancels=1),
    "two items": dict(items=2, losses=1, failures=1, cancels=1, takeovers=1),
    "two items, and a zombie": dict(items=2, losses=1, copies=1, failures=1, timeouts=1),
    "two items, one after the other": dict(items=2, together=1, losses=1, hands=1, resubmits=1,
                                           stops=1, early=1),
    "two items, one of which may fail": dict(items=2, tolerated=1, losses=1, takeovers=1,
                                             resubmits=1, timeouts=1, failures=1),
    "the pivot": dict(items=2, pivot=1, together=1, losses=1, copies=1, takeovers=1, failures=1,
                      resubmits=1),
}
SOUND_AND_LARGE = {
    "one item, zombies": dict(losses=2, copies=2, takeovers=1, early=1, cancels=1, failures=1,
                              finals=1),
    "one item, two generations": dict(losses=2, copies=1, takeovers=1, hands=1, resubmits=1,
                                      failures=1, cancels=1),
    "one item, Error": dict(losses=2, copies=1, takeovers=1, errors=1, resubmits=1, timeouts=1,
                            cancels=1),
    "one item, expiry": dict(losses=2, copies=2, expiries=2, finals=1, cancels=1, early=1),
    "an id that is used again": dict(losses=2, copies=1, takeovers=1, again=1, expiries=1,
                                     finals=1, cancels=1),
    "an id that is used again, zombies": dict(losses=1, copies=2, again=1, expiries=2, finals=1,
                                              hands=1, cancels=1),
    "a reset, zombies": dict(losses=1, copies=2, takeovers=1, early=1, resets=1, cancels=1),
    "two items, zombies": dict(items=2, losses=1, copies=1, takeovers=1, cancels=1),
}

LOST = dict(losses=1, cancels=1)
AGAIN = dict(losses=2, again=1, expiries=1, cancels=1)
BROKEN = {
    "NEVER_ASKS": dict(losses=1),
    "ASKS_WITHOUT_SUBMIT": dict(losses=1),
    "ASKS_WITHOUT_SETTLE": LOST,
    "SETTLES_BEFORE_IT_SUBMITS": LOST,
    "SUPPRESSES_THE_SUBMIT_OF_A_RECALLED_ITEM": LOST,
    "RECALLS_ONLY_HELD_ITEMS": dict(errors=1, cancels=1),
    "RECALLS_ANY_GENERATION": dict(takeovers=1, failures=1, timeouts=1, resubmits=1),
    "REPORTS_COUNT_FOR_ANY_GENERATION": dict(copies=1, timeouts=1, resubmits=1),
    "KEEPS_ANY_GENERATION": dict(hands=1, resubmits=1),
    "FORGETS_THE_ACCEPTED_OFFSET": AGAIN,
    "ENDS_BEFORE_ITEMS_HAVE_ANSWERED": dict(cancels=1),
    "IGNORES_HELD_OF_A_FAILED_ITEM": dict(hands=1),
    "KEEPS_ONLY_ONCE": dict(losses=1),
    "KEEPS_FOR_ANY_END": dict(hands=1),
    "UNKNOWN_ORDER_FAILS_A_SUBMITTED_ITEM": dict(losses=1, copies=1, cancels=1, finals=1),
    "A_FAILED_UNDO_COUNTS_AS_UNDONE": dict(resets=1, cancels=1),
    "UNKNOWN_PARENT_RAISES_NO_ALERT": AGAIN,
    "HELD_IS_REPORTED_ONCE": dict(losses=1),
    "HELD_MAY_BE_CANCELLED": dict(),
    "NOTHING_IS_HELD": dict(cancels=1),
    "REPEATS_WITHOUT_A_REPORT": dict(losses=1, finals=1),
    "UNDO_OF_AN_ENDED_ORDER_WITHOUT_A_REPORT": dict(losses=1, cancels=1),
    "UNDO_OF_AN_UNKNOWN_ORDER_WITHOUT_A_REPORT": dict(losses=1, cancels=1, expiries=1),
    "ACCEPTS_AT_ANY_AGE": dict(copies=1, expiries=1, finals=1),
    "CHECKS_THE_AGE_FIRST": dict(copies=1, takeovers=1, losses=1, expiries=1, finals=1),
}

# The rules as they were first written; the decision tells what happens.
CORRECTED = {
    "IGNORES_HELD_OF_AN_ITEM_TO_DO": dict(items=2, together=1, tolerated=1, hands=1, failures=1,
                                          resubmits=1, stops=1),
    "UNDO_OF_ANY_UNKNOWN_ORDER_IS_REPORTED": dict(losses=1, copies=1, cancels=1),
    "AN_ID_IN_USE_IS_A_REFUSAL": dict(losses=1, copies=1, again=1, expiries=1),
    "REFUSES_FOR_A_REASON_THAT_PASSES": dict(copies=1, refusals=1),
    "EMITS_FROM_A_LATER_ORDERS_ROW": dict(takeovers=1, again=1, cancels=1),
}


class SubordersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sound = dict(SOUND, **(SOUND_AND_LARGE if LARGE else {}))
        cls.found = MODEL.search(dict(cls.sound, **MODEL.broken(dict(BROKEN, **CORRECTED))))

    def test_the_rules_hold_in_every_reachable_state(self):
        for name in self.sound:
            with self.subTest(name):
                found = self.found[name]
                self.assertIsNone(found.error)
                self.assertTrue(found.whole, found.output)
                self.assertGreater(found.states, 1000)

    def test_every_broken_rule_is_noticed(self):
        for name in BROKEN:
            with self.subTest(name):
                self.assertIsNotNone(self.found[name].error, self.found[name].output)

    def test_the_rules_as_first_written_do_not_hold(self):
        for name in CORRECTED:
            with self.subTest(name):
                self.assertIsNotNone(self.found[name].error, self.found[name].output)

    def test_the_model_lists_no_other_broken_rule(self):
        cases = dict(BROKEN, **CORRECTED)
        self.assertEqual(MODEL.rules_in_use(), set(cases))
        self.assertEqual(set(MODEL.numbers(cases)), set(cases))


if __name__ == "__main__":
    unittest.main()
