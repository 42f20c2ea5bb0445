# SPDX-License-Identifier: Apache-2.0
#
# Random expressions, evaluated twice.

reeve_test(expression-property SOURCES expression_property.c LIBS reeve-workflow reeve-test-seed)
