# SPDX-License-Identifier: Apache-2.0
#
# What tests of the engine share: stories as text tables, random workflows, equality of orders.

reeve_library(reeve-test-engine
    SOURCES
        engine_equal.c
        engine_memory.c
        engine_print.c
        engine_story.c
        engine_workflow.c
    LIBS reeve-engine)
