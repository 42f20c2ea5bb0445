# SPDX-License-Identifier: Apache-2.0
"""Runs the load program of a peer, and makes figures of the lines that it prints:

    BEGUN ENDED     a run that has completed as its client knows; microseconds since 1970
    BEGUN -         at the end, a run that has not
    ! KIND COUNT    at the end, requests that failed and were sent again

The program keeps a number of runs in flight until its standard input ends, then starts no more,
waits for those in flight, and ends.
"""

import os
import subprocess
import threading

from machine import Failure

DRAIN_SECONDS = 60  # the programs wait half as long
CRASH_GRACE_US = 5000  # an answer that was on its way when its server was killed


class Load:
    def __init__(self, arguments, log, environment):
        self.runs, self.unfinished, self.failures, self.wrong = [], [], {}, None
        self.log = log
        with open(log, "ab") as errors:
            self.program = subprocess.Popen(arguments, stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=errors,
                                            env={**os.environ, **environment})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.program.stdout:
            try:
                self.take(line.split())
            except ValueError:
                self.wrong = self.wrong or line.strip()

    def take(self, words):
        if words and words[0] == "!":
            _, kind, count = words
            self.failures[kind] = int(count)
            return
        begun, ended = words
        if ended == "-":
            self.unfinished.append(int(begun))
        else:
            self.runs.append((int(begun), int(ended)))

    def stop(self):
        """Returns the CPU seconds that it has used, and those that it waited for."""
        self.program.stdin.close()
        self.reader.join(DRAIN_SECONDS)
        if self.reader.is_alive():
            self.program.kill()
            self.reader.join()
        _, status, usage = os.wait4(self.program.pid, 0)
        self.program.returncode = os.waitstatus_to_exitcode(status)
        if self.wrong is not None:
            raise Failure(f"the load program printed '{self.wrong}'; see {self.log}")
        if self.program.returncode != 0:
            raise Failure(f"the load program ended with {self.program.returncode}; see {self.log}")
        return usage.ru_utime + usage.ru_stime

    def kill(self):
        if self.program.returncode is None:
            self.program.kill()
            self.program.wait()


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figures(runs, begin_us, end_us):
    """Of the runs that completed in the interval; None if there is none."""
    took = sorted(ended - begun for begun, ended in runs if begin_us <= ended < end_us)
    if not took:
        return None
    return {"per_second": len(took) * 1e6 / (end_us - begin_us),
            **{f"p{percent}_ms": percentile(took, percent / 100) / 1e3 for percent in (50, 90, 99)}}


def first_of_new(runs, killed_us):
    """When the first of the runs begun after the kill completed; None: none has."""
    return min((ended for begun, ended in runs if begun > killed_us), default=None)


def after_crash(load, killed_us):
    """Seconds after the kill, and the fate of the runs that were in flight."""
    first = min((ended for _, ended in load.runs if ended > killed_us + CRASH_GRACE_US),
                default=None)
    new = first_of_new(load.runs, killed_us)
    return {"first_s": None if first is None else (first - killed_us) / 1e6,
            "new_s": None if new is None else (new - killed_us) / 1e6,
            "completed": sum(begun <= killed_us < ended for begun, ended in load.runs),
            "lost": sum(begun <= killed_us for begun in load.unfinished)}
