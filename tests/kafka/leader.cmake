# SPDX-License-Identifier: Apache-2.0
#
# A candidate for tests of elections, over the public header alone; test_leader.py runs five.

reeve_executable(leader-candidate SOURCES leader_candidate.c LIBS libreeve)
