# SPDX-License-Identifier: Apache-2.0
#
# services/console: event texts, JSON, paging, and the whole of it over the broker in memory.

reeve_test(console
    SOURCES
        counts_test.c
        cursor_test.c
        render_test.c
        event_text_test.c
        ../schemas/samples.c
    LIBS reeve-console)
reeve_test(console-api
    SOURCES
        operator_commands_test.c
        agents_test.c
        api_test.c
        pause_test.c
        search_test.c
        watch_test.c
        world.c
    LIBS reeve-console reeve-simulation reeve-test-engine)
