# SPDX-License-Identifier: Apache-2.0
#
# cli: reading CSV and JSON files, mapping, putting orders together, the table of commands, output.

reeve_test(cli
    SOURCES
        csv_test.c
        drafts_test.c
        files_test.c
        map_test.c
        output_test.c
        table_test.c
        console_test.c
    LIBS reeve-tools)
