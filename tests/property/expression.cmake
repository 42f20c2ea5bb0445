# SPDX-License-Identifier: Apache-2.0
#
# Random expressions, evaluated twice.

reeve_test(expression-property
    SOURCES
        expression_property.c
        expression_terms.c
        expression_terms_evaluate.c
    LIBS reeve-workflow reeve-test-seed m)
