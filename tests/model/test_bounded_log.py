# SPDX-License-Identifier: Apache-2.0
"""Checks every reachable state of bounded_log.pml, and that the model notices each broken rule."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import checker  # noqa: E402

TIMEOUT_SECONDS = 300

MODEL = checker.Model(pathlib.Path(__file__).with_name("bounded_log.pml"))

# What happens in each: see the settings in the model. Those left out have their default there.
SOUND = {
    "one owner, two orders": dict(owners=1, positions=7, orders=2, statements=2),
    "an owner and a zombie": dict(positions=7, decisions=1),
    "three owners": dict(owners=3, positions=6, decisions=1, statements=0),
    "orders that expire": dict(owners=1, decisions=3, expiries=1),
    "an archive and a store that is flushed": dict(owners=1, archives=1, flushes=1, decisions=1),
    "a lost record and a new leader": dict(owners=1, losses=1, failovers=1),
    "two trims and a new leader": dict(owners=1, positions=9, continuations=5, deletions=2,
                                       failovers=1),
    "a reset": dict(owners=1, resets=1),
    "two trims and a reset": dict(owners=1, continuations=4, statements=0, decisions=1,
                                  deletions=2, resets=1),
    "a reset and a zombie": dict(positions=7, decisions=1, statements=0, resets=1),
}

ALONE = dict(owners=1, positions=7)
BROKEN = {
    "DELETES_AFTER_ONE_ACKNOWLEDGEMENT": dict(ALONE, losses=1),
    "TRIMS_PAST_A_STATEMENT": ALONE,
    "TRIMS_PAST_EMITTED_THROUGH": dict(ALONE, statements=2),
    "TRIMS_PAST_A_GROUP": dict(ALONE, archives=1),
    "TRIMS_PAST_THE_FLUSH": dict(ALONE, flushes=1),
    "TRIMS_TO_THE_FLUSH": dict(ALONE, flushes=1),
    "TRIMS_TO_ANY_RECORD": ALONE,
    "TRIMS_TO_A_ZOMBIES_CONTINUATION": dict(owners=3, positions=7, decisions=1, statements=0),
    "IGNORES_GAPS": dict(positions=7),
    "TRUSTS_ANYWHERE": dict(positions=7),
    "ANSWERS_INCOMPLETE": ALONE,
    "COMPLETE_BY_ANY_TRIM": dict(owners=1, positions=9, continuations=5, deletions=2),
    "KEEPS_A_STORE_BEHIND": ALONE,
    "STATES_WITHOUT_SEQUENCE": dict(positions=7),
    "SKIPS_WHAT_A_TRIM_NEEDS": dict(owners=1, resets=1),
    "DELETES_UNANNOUNCED": ALONE,
    "FORGETS_TO_CONTINUE": ALONE,
}

# The rules do not survive these: topics forbid unclean elections for a reason.
UNSOUND = {
    # The record with Trimmed{X} is lost, a zombie's late record takes its place, and the next
    # continuation is acknowledged where its owner expects it.
    "a lost record whose place a zombie takes": dict(positions=6, decisions=1, statements=0,
                                                     losses=1),
    # It is lost together with the continuation that follows it.
    "two lost records": dict(owners=1, positions=7, losses=2),
}


class BoundedLogTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = MODEL.search(dict(SOUND, **UNSOUND, **MODEL.broken(BROKEN)))

    def test_the_rules_hold_in_every_reachable_state(self):
        for name in SOUND:
            with self.subTest(name):
                found = self.found[name]
                self.assertIsNone(found.error)
                self.assertTrue(found.whole, found.output)
                self.assertGreater(found.states, 10000)

    def test_every_broken_rule_is_noticed(self):
        for name in BROKEN:
            with self.subTest(name):
                self.assertIsNotNone(self.found[name].error, self.found[name].output)

    def test_an_unclean_election_can_lose_what_a_trim_needs(self):
        for name in UNSOUND:
            with self.subTest(name):
                self.assertIsNotNone(self.found[name].error, self.found[name].output)

    def test_the_model_lists_no_other_broken_rule(self):
        self.assertEqual(MODEL.rules_in_use(), set(BROKEN))
        self.assertEqual(set(MODEL.numbers(BROKEN)), set(BROKEN))


if __name__ == "__main__":
    unittest.main()
