# SPDX-License-Identifier: Apache-2.0
"""What a process uses."""

import os
import pathlib


def cpu_seconds(pid):
    """CPU time of all its threads, those that have ended included."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return sum(map(int, stat.rsplit(") ", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
