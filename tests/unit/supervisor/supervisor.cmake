# SPDX-License-Identifier: Apache-2.0
#
# What the auditor thinks of an order; a supervisor's partition over the broker in memory.

reeve_test(audit SOURCES audit_test.c LIBS reeve-supervisor)
reeve_test(supervisor SOURCES partition_test.c world.c
    LIBS reeve-supervisor reeve-simulation reeve-test-engine)
