# SPDX-License-Identifier: Apache-2.0
#
# Expressions and templates: what they give, what is wrong with them, what they may cost.

reeve_test(expression
    SOURCES
        budget_test.c
        compile_test.c
        evaluate_test.c
        guards_test.c
        kit.c
        template_test.c
    LIBS reeve-workflow)
reeve_executable(expression-cases SOURCES cases_main.c LIBS reeve-workflow OUTPUT tests/unit)
