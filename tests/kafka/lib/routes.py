# SPDX-License-Identifier: Apache-2.0
"""The HTTP routes of the services, as the program lists them."""

import json
import subprocess

from .paths import reeve_binary

SERVICES = ("submission", "scheduler", "agent", "supervisor", "console")


def read_rows():
    """What `reeve token roles` says about each route."""
    return json.loads(subprocess.run(
        [reeve_binary(), "token", "roles", "--output", "json"], capture_output=True, text=True,
        check=True, timeout=60).stdout)


def read_routes():
    """(service, row) of each route of each service."""
    return [(service, row) for row in read_rows() for service in row["services"]]
