# SPDX-License-Identifier: Apache-2.0
"""The HTTP routes of the services, as the program lists them."""

import json
import re
import subprocess

from .paths import reeve_binary

VALUES = {"id": "o-1", "partition": "0", "offset": "0", "name": "noop", "version": "1",
          "agent": "noop", "order": "o-1", "step": "First", "direction": "do", "attempt": "1"}


def read_rows():
    """What `reeve token roles` says about each route."""
    return json.loads(subprocess.run(
        [reeve_binary(), "token", "roles", "--output", "json"], capture_output=True, text=True,
        check=True, timeout=60).stdout)


def fill(path):
    """The path with a value in place of each {name}."""
    return re.sub(r"\{(\w+)\}", lambda name: VALUES[name[1]], path)


def read_routes():
    """(service, row) of each route of each service."""
    return [(service, row) for row in read_rows() for service in row["services"]]
