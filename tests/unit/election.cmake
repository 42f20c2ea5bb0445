# SPDX-License-Identifier: Apache-2.0
#
# Elections and audits: the pure parts, as tables.

reeve_test(election SOURCES election_log_test.c election_test.c LIBS reeve-runtime reeve-engine)
reeve_test(audit SOURCES audit_test.c LIBS reeve-supervisor reeve-runtime reeve-engine)
