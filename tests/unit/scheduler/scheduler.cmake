# SPDX-License-Identifier: Apache-2.0
#
# Standbys, the states of an owner, the router and the backlog; owners over the broker in memory.

reeve_test(scheduler
    SOURCES
        owner_state_test.c
        router_history_test.c
        router_kit.c
        router_pause_test.c
        router_test.c
        standby_test.c
        ../replica/view_kit.c
        ../statestore/kit.c
    LIBS reeve-test-seed reeve-scheduler reeve-test-engine)

reeve_test(scheduler-owner
    SOURCES
        group_watch_test.c
        outcomes_test.c
        owner_batch_test.c
        owner_claim_test.c
        owner_clock_test.c
        owner_commands_test.c
        owner_days_test.c
        owner_doubt_test.c
        owner_expiry_test.c
        owner_foreign_test.c
        owner_newer_test.c
        owner_isolation_test.c
        owner_kit.c
        owner_log_test.c
        owner_route_test.c
        owner_suborders_test.c
        owner_trimmed_test.c
        owner_trims_test.c
        partition_alerts_test.c
        owner_store_test.c
        scheduler_test.c
        ../statestore/kit.c
    LIBS reeve-scheduler reeve-test-site)

reeve_test(scheduler-emitter
    SOURCES emitter_test.c owner_kit.c ../statestore/kit.c
    LIBS reeve-scheduler reeve-test-site)

# What orders have a scheduler write: test_plain_orders.py compares it with earlier bytes.
reeve_executable(plain-orders
    SOURCES plain_orders.c owner_kit.c ../statestore/kit.c
    LIBS reeve-test-options reeve-scheduler reeve-test-site PkgConfig::CRITERION
    OUTPUT tests/unit)

# What an order costs: test_order_cost.py runs it under valgrind.
reeve_executable(order-cost
    SOURCES order_cost.c owner_kit.c ../statestore/kit.c
    LIBS reeve-test-options reeve-scheduler reeve-supervisor reeve-test-site PkgConfig::CRITERION
    OUTPUT tests/unit)
