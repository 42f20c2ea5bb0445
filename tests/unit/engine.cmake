# SPDX-License-Identifier: Apache-2.0
#
# The engine: decisions and folds as stories, tables, arithmetic.

reeve_test(engine
    SOURCES
        engine_compensation_test.c
        engine_docs_test.c
        engine_extend_test.c
        engine_lifecycle_test.c
        engine_operator_test.c
        engine_order_test.c
        engine_progress_test.c
        engine_recover_test.c
        engine_report_test.c
        engine_retry_test.c
        engine_route_test.c
    LIBS reeve-test-engine reeve-engine)
