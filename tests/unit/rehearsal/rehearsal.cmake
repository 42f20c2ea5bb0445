# SPDX-License-Identifier: Apache-2.0
#
# rehearsal: files of tests, and the orders that they tell of.

reeve_test(rehearsal SOURCES case_file_test.c kit.c story_test.c suborders_test.c
    LIBS reeve-rehearsal)
