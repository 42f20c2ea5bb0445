# SPDX-License-Identifier: Apache-2.0
#
# services/console: JSON, paging, and the whole of it over the broker in memory.

reeve_test(console
    SOURCES
        counts_test.c
        cursor_test.c
        render_test.c
        stats_test.c
        ../schemas/json_kit.c
        ../schemas/samples.c
    LIBS reeve-console)
reeve_test(console-api
    SOURCES
        operator_commands_test.c
        order_wait_test.c
        agents_test.c
        answers.c
        api_test.c
        bad_input_test.c
        events_test.c
        fixture.c
        dead_letters_older_test.c
        history_test.c
        dead_letters_test.c
        metrics_test.c
        overview_test.c
        pause_test.c
        schedules_test.c
        search_api_test.c
        search_test.c
        services_test.c
        signals_test.c
        suborders_test.c
        watch_test.c
        workflow_graph_test.c
        workflows_test.c
        world.c
        ../platform/names_kit.c
    LIBS reeve-console reeve-test-site reeve-test-engine reeve-test-seed)
reeve_test(console-web
    SOURCES
        web_test.c
        ../platform/http_server_kit.c
    LIBS reeve-console)
