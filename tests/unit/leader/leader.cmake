# SPDX-License-Identifier: Apache-2.0
#
# Elections: the pure parts, as tables.

reeve_test(election SOURCES election_log_test.c election_test.c LIBS reeve-leader)
