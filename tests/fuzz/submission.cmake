# SPDX-License-Identifier: Apache-2.0
#
# fuzz-submission CORPUS: records of the submissions topic.

reeve_fuzz(submission SOURCES submission_fuzz.c input.c ../unit/submission/stage.c
    LIBS reeve-submission reeve-test-site)
