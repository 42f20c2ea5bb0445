# SPDX-License-Identifier: Apache-2.0
#
# Loop, clock, logs, configuration, metrics, HTTP, files.

reeve_test(platform
    SOURCES
        clock_test.c
        config_schema.c
        config_scope_test.c
        config_test.c
        connection_info.c
        disk_guard_test.c
        failpoint_test.c
        files_test.c
        http_access_kit.c
        http_access_test.c
        http_client_test.c
        http_framing_test.c
        http_group_file_test.c
        http_groups_test.c
        http_pending_test.c
        http_proxy_test.c
        http_server_kit.c
        http_server_test.c
        http_session_table_test.c
        http_session_test.c
        http_slow_clients_test.c
        http_stream_test.c
        http_tls_test.c
        http_token_file_test.c
        http_tokens_test.c
        http_waits_test.c
        json_tree_test.c
        logger_test.c
        loop_test.c
        memory_guard_test.c
        metrics_test.c
        program_run_test.c
        program_test.c
        name_lookup_test.c
        names_kit.c
    LIBS reeve-test-certificate reeve-platform)
target_link_options(test-platform PRIVATE
    -Wl,--wrap=MHD_get_connection_info -Wl,--wrap=rename)
