# SPDX-License-Identifier: Apache-2.0
#
# The fold without a broker: admission, views over real stores, what is known of agents, the service
# main.

reeve_test(replica
    SOURCES
        admission_test.c
        agent_table_test.c
        service_main_test.c
        settings_test.c
        shares_test.c
        view_expiry_test.c
        ../statestore/kit.c
    LIBS reeve-simulation reeve-test-engine)
