# SPDX-License-Identifier: Apache-2.0
#
# The submission service on the embedded cluster.

reeve_test(submission-embedded SOURCES submission_embedded_test.c
    LIBS reeve-submission reeve-test-broker)
