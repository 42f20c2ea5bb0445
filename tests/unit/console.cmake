# SPDX-License-Identifier: Apache-2.0
#
# services/console: words, JSON, paging, and the whole of it over the broker in memory.

reeve_test(console
    SOURCES
        console_counts_test.c
        console_cursor_test.c
        console_render_test.c
        console_words_test.c
        schemas_samples.c
    LIBS reeve-console)
reeve_test(console-api
    SOURCES
        console_acts_test.c
        console_agents_test.c
        console_api_test.c
        console_pause_test.c
        console_search_test.c
        console_watch_test.c
        console_world.c
    LIBS reeve-console reeve-test-engine)
