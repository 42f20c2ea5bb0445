# SPDX-License-Identifier: Apache-2.0
#
# Workflow files and the registry of deployed workflows.

reeve_test(workflow
    SOURCES
        await_test.c
        bodies_test.c
        body_mistakes_test.c
        cel_mistakes_test.c
        compile_test.c
        diff_test.c
        expressions_test.c
        graph_test.c
        hostile_test.c
        kit.c
        lifecycle_test.c
        lint_test.c
        mistakes_test.c
        policy_lint_test.c
        registry_test.c
        shape_test.c
        step_mistakes_test.c
        values_test.c
    LIBS reeve-workflow)
