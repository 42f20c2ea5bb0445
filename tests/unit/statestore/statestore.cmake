# SPDX-License-Identifier: Apache-2.0
#
# The disposable stores, with a real RocksDB in a temporary folder.

reeve_test(statestore
    SOURCES
        answers_test.c
        checkpoint_test.c
        keys_test.c
        kit.c
        refused_write_test.c
        scan_test.c
        store_test.c
    LIBS reeve-test-seed reeve-statestore)
reeve_test(statestore-crash
    SOURCES
        crash_test.c
        damage_test.c
        kit.c
        kit_files.c
        log_check_test.c
    LIBS reeve-statestore
    TIMEOUT 600)
