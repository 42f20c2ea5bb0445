# SPDX-License-Identifier: Apache-2.0
#
# The base of runtime/: loop, clock, logs, configuration, metrics, HTTP, files.

reeve_test(runtime
    SOURCES
        runtime_agents_test.c
        runtime_clock_test.c
        runtime_config_scope_test.c
        runtime_config_test.c
        runtime_disk_guard_test.c
        runtime_failpoint_test.c
        runtime_files_test.c
        runtime_http_client_test.c
        runtime_http_server_test.c
        runtime_logger_test.c
        runtime_loop_test.c
        runtime_metrics_test.c
        runtime_service_main_test.c
        runtime_shares_test.c
    LIBS reeve-runtime)
