# SPDX-License-Identifier: Apache-2.0
#
# cli: reading CSV and JSON files, mapping, putting orders together, the table of commands, output.

reeve_test(cli
    SOURCES
        activate_test.c
        agents_test.c
        amend_test.c
        cli_kit.c
        completion_test.c
        csv_test.c
        deploy_test.c
        drafts_test.c
        export_test.c
        export_trimmed_test.c
        files_test.c
        leader_test.c
        log_kit.c
        map_test.c
        migrate_test.c
        old_data_test.c
        order_filter_test.c
        output_test.c
        partition_test.c
        reasons_test.c
        resubmit_test.c
        schedule_test.c
        session_kit.c
        signal_test.c
        skip_check_test.c
        status_rows_test.c
        step_test.c
        tree_test.c
        table_kit.c
        table_test.c
        token_test.c
        verify_fold_test.c
        verify_items_test.c
        verify_rules_test.c
        views_test.c
        waiting_commands_test.c
        waiting_orders_test.c
        console_access_test.c
        console_test.c
        dead_letters_test.c
        ../statestore/kit.c
    LIBS reeve-test-certificate reeve-tools reeve-test-site)
