# SPDX-License-Identifier: Apache-2.0
#
# The disposable stores, with a real RocksDB in a temporary folder.

reeve_test(statestore
    SOURCES
        statestore_answers_test.c
        statestore_checkpoint_test.c
        statestore_keys_test.c
        statestore_kit.c
        statestore_manifest_test.c
        statestore_scan_test.c
        statestore_store_test.c
    LIBS reeve-statestore)
reeve_test(statestore-crash
    SOURCES
        statestore_crash_test.c
        statestore_damage_test.c
        statestore_kit.c
    LIBS reeve-statestore)
