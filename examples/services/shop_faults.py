# SPDX-License-Identifier: Apache-2.0
"""The shop's faults: which calls fail, and how. The same seed, keys and rules give the same faults.

A rule is written `SERVICE,MODE[,name=value...]` on the command line, or as a JSON object with the
same names on POST /control. The first rule that fits a call decides.

    payment,decline,share=0.1              one payment in ten is refused permanently
    stock,503-after,share=0.2,times=1      one key in five: applied, first answered with 503
    *,slow,ms=800,orders=536365;536370     every call of these two orders takes 800 ms
    payment,never,direction=undo           refunds are never answered
"""

import collections
import dataclasses
import hashlib

SERVICES = ("stock", "payment", "carrier")
MODES = {
    "decline": "refused permanently (422)",
    "503-before": "503, nothing was applied",
    "503-after": "applied, then 503",
    "slow": "waits ms, then is applied and answered",
    "slow-after": "is applied, then waits ms before it answers",
    "never": "nothing is applied, no answer, the connection stays open",
    "never-after": "applied, no answer, the connection stays open",
    "reset": "nothing is applied, the connection is reset",
    "reset-after": "applied, then the connection is reset",
}
DIRECTIONS = ("do", "undo", "any")


@dataclasses.dataclass(frozen=True)
class Rule:
    service: str              # stock, payment, carrier, or * for all
    mode: str
    direction: str = "do"     # do, undo or any
    action: str = ""          # only this action; empty is any
    orders: tuple = ()        # only these order ids; empty is any
    share: float = 1.0        # of the idempotency keys, chosen by a hash of seed and key
    times: int = 0            # only the first N calls of a key; 0 is all of them
    ms: int = 1000            # the delay of slow calls

    def __post_init__(self):
        for name, value, known in (("service", self.service, (*SERVICES, "*")),
                                   ("mode", self.mode, tuple(MODES)),
                                   ("direction", self.direction, DIRECTIONS)):
            if value not in known:
                raise ValueError(f"{name} {value!r} is not one of {', '.join(known)}")
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share {self.share} is not between 0 and 1")
        if self.times < 0 or self.ms < 0:
            raise ValueError("times and ms cannot be negative")

    @classmethod
    def from_json(cls, given):
        if not isinstance(given, dict):
            raise ValueError(f"a rule is an object, not {given!r}")
        unknown = given.keys() - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"unknown in a rule: {', '.join(sorted(unknown))}")
        if not {"service", "mode"} <= given.keys():
            raise ValueError("a rule names a service and a mode")
        orders = given.get("orders", ())
        if isinstance(orders, str) or not all(isinstance(order, str) for order in orders):
            raise ValueError("orders is a list of order ids")
        try:
            return cls(**{**given, "orders": tuple(orders),
                          "share": float(given.get("share", 1.0)),
                          "times": int(given.get("times", 0)), "ms": int(given.get("ms", 1000))})
        except TypeError as error:
            raise ValueError(str(error)) from None

    @classmethod
    def from_text(cls, text):
        service, _, rest = text.partition(",")
        mode, *pairs = rest.split(",")
        given = {"service": service, "mode": mode}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals:
                raise ValueError(f"{pair!r} is not name=value")
            given[name] = value.split(";") if name == "orders" else value
        return cls.from_json(given)

    def fits(self, call, seed):
        return (self.service in (call.service, "*")
                and self.direction in (call.direction, "any")
                and self.action in (call.action, "")
                and (not self.orders or call.order_id in self.orders)
                and (self.share >= 1.0 or self._draw(call.key, seed) < self.share))

    def _draw(self, key, seed):
        digest = hashlib.sha256(f"{seed}/{self.service}/{self.mode}/{key}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


class Faults:
    """The rules in force, and how often each key already met the ones that count (`times`): that
    memory starts afresh with the process and with each change of the rules."""

    def __init__(self, seed, rules=()):
        self._seed = seed
        self.set(rules)

    def set(self, rules):
        self._rules = tuple(rules)
        self._met = collections.Counter()

    def as_json(self):
        return [dataclasses.asdict(rule) for rule in self._rules]

    def choose(self, call):
        """The rule that this call runs into, or None."""
        for number, rule in enumerate(self._rules):
            if not rule.fits(call, self._seed):
                continue
            if rule.times:
                self._met[number, call.key, call.direction] += 1
                if self._met[number, call.key, call.direction] > rule.times:
                    continue
            return rule
        return None
