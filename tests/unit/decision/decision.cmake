# SPDX-License-Identifier: Apache-2.0
#
# Orders whose workflows have expressions: compiled from files, decided, folded.

reeve_test(decision
    SOURCES
        amend_test.c
        await_test.c
        budget_test.c
        catch_test.c
        flows_test.c
        input_test.c
        kit.c
        output_test.c
        set_test.c
        signal_test.c
        suborders_test.c
        until_test.c
        wait_test.c
        when_test.c
    LIBS reeve-test-engine reeve-workflow)
