# SPDX-License-Identifier: Apache-2.0
#
# services/submission under random crashes, rebalances and failing appends.

reeve_test(submission-random
    SOURCES submission_random_test.c ../unit/submission/stage.c
    LIBS reeve-test-seed reeve-submission reeve-test-site
    TIMEOUT 600)
