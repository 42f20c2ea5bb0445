# SPDX-License-Identifier: Apache-2.0
#
# Which schedulers stand by for which partition; what a view counts for the router.

reeve_test(scheduler SOURCES standby_test.c router_test.c ../statestore/kit.c
    LIBS reeve-scheduler reeve-test-engine)
