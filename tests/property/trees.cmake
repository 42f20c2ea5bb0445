# SPDX-License-Identifier: Apache-2.0
#
# Trees of orders under random histories.

reeve_test(trees-property
    SOURCES
        engine_digest.c
        engine_random.c
        trees_agents.c
        trees_property.c
        trees_rules.c
        trees_rules_end.c
        trees_senders.c
        trees_workflow.c
        trees_world.c
    LIBS reeve-test-seed reeve-test-engine reeve-workflow reeve-schemas
    TIMEOUT 600)
