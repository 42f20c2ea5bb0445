# SPDX-License-Identifier: Apache-2.0
#
# The fold without a broker: admission, views over real stores, what is known of agents, the service
# main.

reeve_test(replica
    SOURCES
        admission_resets_test.c
        admission_test.c
        agent_table_test.c
        cluster_check_test.c
        cluster_test.c
        dead_letter_test.c
        dead_letter_read_test.c
        order_traces_test.c
        schema_registry_test.c
        service_credentials_test.c
        service_main_test.c
        settings_test.c
        shares_test.c
        view_cache_test.c
        view_expiry_test.c
        verdict_test.c
        view_flush_test.c
        view_hostile_test.c
        view_kit.c
        view_report_test.c
        view_statement_test.c
        ../platform/http_server_kit.c
        ../statestore/kit.c
        ../../property/engine_random.c
    LIBS reeve-test-site reeve-test-engine reeve-test-seed)
