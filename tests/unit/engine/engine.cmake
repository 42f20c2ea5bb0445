# SPDX-License-Identifier: Apache-2.0
#
# The engine: decisions and folds as stories, tables, arithmetic.

reeve_test(engine
    SOURCES
        by_hand_test.c
        command_test.c
        compensation_test.c
        data_test.c
        docs_test.c
        extend_test.c
        lifecycle_test.c
        operator_test.c
        migrate_test.c
        pause_test.c
        order_test.c
        output_test.c
        progress_test.c
        recover_test.c
        report_test.c
        retry_test.c
        route_test.c
        settle_test.c
        shape_test.c
        suborder_effects_test.c
        suborder_report_test.c
        suborders_test.c
    LIBS reeve-test-engine reeve-engine)
