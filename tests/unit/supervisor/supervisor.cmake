# SPDX-License-Identifier: Apache-2.0
#
# What the auditor thinks of an order; which commands a supervisor has sent; what it knows of the
# scheduler's time; its partition and the auditor over the broker in
# memory.

reeve_test(audit SOURCES audit_test.c LIBS reeve-supervisor)
reeve_test(outstanding SOURCES outstanding_test.c LIBS reeve-supervisor)
reeve_test(scheduler-clock SOURCES scheduler_clock_test.c LIBS reeve-supervisor)
reeve_test(supervisor SOURCES waiting_commands_test.c partition_test.c partition_clock_test.c
    auditor_test.c schedules_test.c world.c
    LIBS reeve-supervisor reeve-test-site reeve-test-engine)
