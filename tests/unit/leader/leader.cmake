# SPDX-License-Identifier: Apache-2.0
#
# Elections: the pure parts, as tables; a candidate over the broker in memory.

reeve_test(election SOURCES election_log_test.c election_test.c LIBS reeve-leader)
reeve_test(leader SOURCES leader_test.c LIBS reeve-leader reeve-test-site)
