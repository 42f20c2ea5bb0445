# SPDX-License-Identifier: Apache-2.0
#
# cli: reading CSV and JSON files, mapping, putting orders together, the table of commands, output.

reeve_test(cli
    SOURCES
        cli_csv_test.c
        cli_drafts_test.c
        cli_files_test.c
        cli_map_test.c
        cli_output_test.c
        cli_table_test.c
    LIBS reeve-cli)
