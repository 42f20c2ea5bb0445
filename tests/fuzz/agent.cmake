# SPDX-License-Identifier: Apache-2.0
#
# fuzz-agent CORPUS: what topics, sockets and files bring to an agent. tests/fuzz/corpus/agent is
# the corpus to begin with.

reeve_fuzz(agent SOURCES agent_fuzz.c input.c LIBS reeve-agent reeve-test-site)
