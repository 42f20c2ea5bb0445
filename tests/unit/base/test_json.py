# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON is what Python's json and decimal make of the same text, and both refuse the same
texts. json-tool is our code; every run draws new documents, REEVE_SEED repeats one."""

import decimal
import json
import os
import pathlib
import random
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = pathlib.Path(os.environ.get("REEVE_BUILD_DIR", ROOT / "build" / "dev"))
TOOL = TOOL / "tests" / "unit" / "json-tool"
DIGITS_MAX = 40
DEPTH_MAX = 32


class Refused(ValueError):
    pass


# ---- the rules again ----


def number_text(spelled):
    mantissa, _, power = spelled.lower().partition("e")
    power = max(-10**9, min(10**9, int(power or 0)))  # what decimal takes
    sign, digits, exponent = decimal.Decimal(f"{mantissa}e{power}").as_tuple()
    digits = list(digits)
    while len(digits) > 1 and digits[-1] == 0:
        digits.pop()
        exponent += 1
    if digits == [0]:
        return "0"
    if abs(exponent) > 2 * DIGITS_MAX:
        raise Refused("digits")
    text = format(decimal.Decimal((sign, digits, exponent)), "f")
    if sum(c.isdigit() for c in text) > DIGITS_MAX:
        raise Refused("digits")
    return text


def string_text(value):
    if "\0" in value:
        raise Refused("NUL")
    value.encode()  # refuses half of a surrogate pair
    return json.dumps(value, ensure_ascii=False)


def members(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise Refused("twice")
    return dict(pairs)


def refuse(constant):
    raise Refused(constant)


class Number(str):
    pass


def text_of(value, depth=0):
    if isinstance(value, Number):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    if not isinstance(value, (list, dict)):
        return json.dumps(value)
    if depth == DEPTH_MAX:
        raise Refused("depth")
    if isinstance(value, list):
        return "[" + ",".join(text_of(item, depth + 1) for item in value) + "]"
    rows = sorted(value.items(), key=lambda row: row[0].encode())
    return "{" + ",".join(f"{string_text(name)}:{text_of(item, depth + 1)}"
                          for name, item in rows) + "}"


def canonical(raw):
    """The canonical text, or None if it is refused."""
    try:
        value = json.loads(raw.decode(), parse_float=Number, parse_int=Number,
                           parse_constant=refuse, object_pairs_hook=members)
        return text_of(value)
    except ValueError:  # UnicodeError and JSONDecodeError are
        return None


# ---- random texts ----


class Texts:
    CHARACTERS = "ab0 /\"\\\b\f\n\r\t\x01\x1f\x7f{}[],:é€😀\uffff\u0800"

    def __init__(self, seed):
        self.random = random.Random(seed)

    def string(self):
        return "".join(self.random.choices(self.CHARACTERS, k=self.random.randrange(6)))

    def number(self):
        digits = str(self.random.randrange(10 ** self.random.choice((1, 2, 5, 20, 42))))
        spelled = self.random.choice(("", "-")) + digits
        if self.random.random() < 0.5:
            spelled += "." + str(self.random.randrange(1000)).rjust(
                self.random.choice((1, 3, 30)), "0")
        if self.random.random() < 0.4:
            spelled += self.random.choice("eE") + self.random.choice(("", "-", "+")) + str(
                self.random.choice((0, 1, 3, 12, 39, 41, 400)))
        return spelled

    def quoted(self, value):
        spelled = json.dumps(value, ensure_ascii=self.random.random() < 0.5)
        return spelled.replace("/", "\\/") if self.random.random() < 0.2 else spelled

    def blanks(self):
        return "".join(self.random.choices(" \n\t\r", k=self.random.choice((0, 0, 0, 1, 2))))

    def text(self, depth=0):
        kind = self.random.randrange(8 if depth < 5 else 5)
        if kind < 2:
            body = self.number()
        elif kind < 4:
            body = self.quoted(self.string())
        elif kind == 4:
            body = self.random.choice(("null", "true", "false"))
        else:
            items = [self.text(depth + 1) for _ in range(self.random.randrange(5))]
            if kind == 5:
                body = "[" + ",".join(items) + "]"
            else:
                body = "{" + ",".join(self.blanks() + self.quoted(self.string()) + self.blanks()
                                      + ":" + item for item in items) + "}"
        return self.blanks() + body + self.blanks()

    def damaged(self, raw):
        damaged = bytearray(raw)
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(damaged))
            how = self.random.randrange(3)
            if how == 0:
                damaged[at] = self.random.choice(raw)
            elif how == 1:
                damaged[at] = self.random.randrange(256)
            else:
                damaged.insert(at, self.random.choice(b'{}[],:"\\u0019-+.e \xc3\xed'))
        return bytes(damaged)


def answers(documents):
    framed = b"".join(b"%d\n%s" % (len(raw), raw) for raw in documents)
    out = subprocess.run([TOOL], input=framed, capture_output=True, check=True).stdout
    lines = out.split(b"\n")
    assert lines.pop() == b""
    return [None if line.startswith(b"! ") else line.decode() for line in lines]


class JsonTest(unittest.TestCase):
    def compare(self, documents):
        found = answers(documents)
        self.assertEqual(len(found), len(documents))
        for raw, text in zip(documents, found):
            self.assertEqual(text, canonical(raw), raw)
        return found

    def test_random_texts_and_damaged_ones(self):
        seed = int(os.environ.get("REEVE_SEED", random.SystemRandom().randrange(2 ** 32)))
        with self.subTest(f"REEVE_SEED={seed}"):
            texts = Texts(seed)
            whole = [texts.text().encode() for _ in range(4000)]
            found = self.compare(whole)
            accepted = [text for text in found if text is not None]
            self.assertGreater(len(accepted), len(whole) // 4)
            self.assertEqual(answers([text.encode() for text in accepted]), accepted)
            damaged = self.compare([texts.damaged(raw) for raw in whole])
            self.assertGreater(sum(text is None for text in damaged), len(whole) // 4)

    def test_texts_at_the_limits(self):
        self.compare([
            b"[" * 32 + b"]" * 32, b"[" * 33 + b"]" * 33, b'{"a":' * 32 + b"1" + b"}" * 32,
            b"1e39", b"1e40", b"1e-39", b"1e-40", b"-0", b"-0.0e5", b"0.1e1", b"9" * 40, b"9" * 41,
            b"0." + b"3" * 39, b"0." + b"3" * 40, b"1." + b"0" * 100, b"0." + b"0" * 60 + b"1e61",
            b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\\u001F"',
            b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"', b"\xef\xbb\xbf1", b"NaN",
            b"-Infinity", b"[1,]", b'{"a":1,}', b'{"a":1,"a":1}', b'{"\\u0061":1,"a":1}', b"",
            b'{"\xef\xbf\xbf":1,"\xf0\x90\x80\x80":2}', b'{"\\uffff":1,"\\ud800\\udc00":2}',
        ])


if __name__ == "__main__":
    unittest.main()
