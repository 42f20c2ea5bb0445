# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench-peers measures: the only place of these versions. Kafka's is in scripts/kafka.
docs/design/peers.md repeats them, and tests/unit/test_bench_peers.py compares."""

JAVA = 25  # LittleHorse's server is compiled for it
LITTLEHORSE = "1.2.1"  # server and client, from Maven Central
RESTATE = "1.7.12"  # the server, from npm
RESTATE_SDK = "1.12.0"  # from npm; newer ones need Node.js 22
TEMPORAL = "1.5.1"  # the CLI with its development server, a Go module
TEMPORAL_SDK = "1.35.0"  # from PyPI
