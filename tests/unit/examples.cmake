# SPDX-License-Identifier: Apache-2.0
#
# The Python of examples/: standard library and Debian's python3-avro only.

add_test(NAME unit/shop
    COMMAND /usr/bin/python3 -B -m unittest discover -s ${PROJECT_SOURCE_DIR}/examples/services)
set_tests_properties(unit/shop PROPERTIES LABELS unit TIMEOUT 120)

add_test(NAME unit/third-party-client
    COMMAND /usr/bin/python3 -B -m unittest discover
        -s ${PROJECT_SOURCE_DIR}/examples/third_party_client)
set_tests_properties(unit/third-party-client PROPERTIES LABELS unit TIMEOUT 120)
