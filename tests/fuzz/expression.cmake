# SPDX-License-Identifier: Apache-2.0
#
# fuzz-expression CORPUS: an expression and the data that it reads.

reeve_fuzz(expression PURE SOURCES expression_fuzz.c LIBS reeve-workflow)
