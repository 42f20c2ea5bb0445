# SPDX-License-Identifier: Apache-2.0
#
# Ownership under random histories, over the broker in memory and real stores.

reeve_library(reeve-test-ownership
    SOURCES
        engine_data.c
        engine_mappings.c
        engine_other_version.c
        engine_random.c
        engine_rules.c
        engine_rules_amend.c
        engine_rules_data.c
        engine_rules_migrate.c
        engine_rules_route.c
        engine_rules_signal.c
        engine_rules_step.c
        engine_rules_verdict.c
        engine_terms.c
        engine_terms_evaluate.c
        ownership_actors.c
        ownership_bytes.c
        ownership_chaos.c
        ownership_clock.c
        ownership_crowd.c
        ownership_deployments.c
        ownership_effects.c
        ownership_expiry.c
        ownership_extensions.c
        ownership_fold.c
        ownership_garbage.c
        ownership_group.c
        ownership_history.c
        ownership_instance.c
        ownership_isolation.c
        ownership_ledger.c
        ownership_log_faults.c
        ownership_messages.c
        ownership_model.c
        ownership_operators.c
        ownership_poison.c
        ownership_process.c
        ownership_route.c
        ownership_rules.c
        ownership_run.c
        ownership_sometimes.c
        ownership_supervisor.c
        ownership_tail.c
        ownership_trees.c
        ownership_trim.c
        ownership_upgrade.c
        ownership_versions.c
        ownership_workflow.c
        ownership_world.c
        ownership_yaml.c
        trees_workflow.c
    LIBS reeve-test-seed reeve-test-store reeve-scheduler reeve-supervisor reeve-test-site)
# ownership_versions.c
target_link_options(reeve-test-ownership INTERFACE
    LINKER:--wrap=codec_decode LINKER:--wrap=codec_encode LINKER:--wrap=codec_knows
    LINKER:--wrap=codec_fingerprint LINKER:--wrap=codec_is_newer)

reeve_test(ownership-property
    SOURCES
        ownership_property.c
    LIBS reeve-test-ownership
    TIMEOUT 1500)
