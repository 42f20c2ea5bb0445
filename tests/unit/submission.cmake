# SPDX-License-Identifier: Apache-2.0
#
# services/submission: JSON orders, judging, the front door over the broker in memory.

reeve_test(submission
    SOURCES
        submission_json_test.c
        submission_judge_test.c
        submission_service_test.c
        submission_stage.c
    LIBS reeve-submission)
