# SPDX-License-Identifier: Apache-2.0
"""Conditions with deadlines, instead of sleeps; and the times that programs print."""

import datetime
import time

POLL_SECONDS = 0.05


class TimedOut(AssertionError):
    """A condition did not come true in time."""


def wait_for(what, condition, seconds=30, poll_seconds=POLL_SECONDS):
    """Calls condition() until it returns something true, and returns that.

    `what` describes the condition for the error message; a function is called when the time is up.
    An AssertionError from the condition counts as "not yet" and is shown at the end.
    """
    deadline = time.monotonic() + seconds
    while True:
        reason = ""
        try:
            result = condition()
            if result:
                return result
        except TimedOut:
            raise
        except AssertionError as error:
            reason = f": {error}"
        if time.monotonic() > deadline:
            text = what() if callable(what) else what
            raise TimedOut(f"not within {seconds:g} s: {text}{reason}")
        time.sleep(poll_seconds)


def millis(text):
    """An RFC 3339 time, as the API and the CLI print it, in milliseconds since 1970."""
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)
