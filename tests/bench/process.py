# SPDX-License-Identifier: Apache-2.0
"""What a process uses."""

import os
import pathlib
import re


def cpu_seconds(pid):
    """CPU time of all its threads, those that have ended included."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return sum(map(int, stat.rsplit(") ", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) // 1024
