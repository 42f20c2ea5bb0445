# SPDX-License-Identifier: Apache-2.0
#
# The engine under random histories.

reeve_test(engine-property
    SOURCES
        engine_agents.c
        engine_data.c
        engine_digest.c
        engine_distort.c
        engine_history.c
        engine_mappings.c
        engine_migrate.c
        engine_other_version.c
        engine_property.c
        engine_random.c
        engine_rare.c
        engine_rules.c
        engine_rules_amend.c
        engine_rules_data.c
        engine_rules_migrate.c
        engine_rules_route.c
        engine_rules_signal.c
        engine_rules_step.c
        engine_rules_verdict.c
        engine_senders.c
        engine_signals.c
        engine_terms.c
        engine_terms_evaluate.c
        engine_world.c
    LIBS reeve-test-seed reeve-test-engine reeve-workflow reeve-schemas
    TIMEOUT 600)
