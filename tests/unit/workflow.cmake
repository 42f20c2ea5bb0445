# SPDX-License-Identifier: Apache-2.0
#
# Workflow files and the registry of deployed workflows.

reeve_test(workflow
    SOURCES
        workflow_compile_test.c
        workflow_hostile_test.c
        workflow_kit.c
        workflow_lint_test.c
        workflow_policy_lint_test.c
        workflow_print_test.c
        workflow_registry_test.c
    LIBS reeve-workflow)
