# SPDX-License-Identifier: Apache-2.0
#
# Standbys, the states of an owner, the router and the backlog.

reeve_test(scheduler SOURCES standby_test.c owner_state_test.c router_test.c ../statestore/kit.c
    LIBS reeve-scheduler reeve-test-engine)
