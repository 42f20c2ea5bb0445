# SPDX-License-Identifier: Apache-2.0
#
# A view over a real store: orders that come, end, expire, or wait for room.

reeve_test(view
    SOURCES
        view_expiry_test.c
        view_routing_test.c
        statestore_kit.c
    LIBS reeve-runtime reeve-test-engine)
