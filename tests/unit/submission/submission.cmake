# SPDX-License-Identifier: Apache-2.0
#
# services/submission: validation, the service on the simulated broker.

reeve_test(submission
    SOURCES
        http_bytes_test.c
        json_records_test.c
        order_api_test.c
        validate_test.c
        service_test.c
        signals_test.c
        stage.c
    LIBS reeve-submission reeve-test-site)
