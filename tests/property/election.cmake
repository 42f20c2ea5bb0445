# SPDX-License-Identifier: Apache-2.0
#
# Elections under random histories: five candidates, one log, all that can go wrong. The state
# machine is compiled in, linked to the engine alone: it is pure.

reeve_test(election-property
    SOURCES election_property.c election_world.c ../../leader/election.c
        ../../leader/election_log.c
    LIBS reeve-test-seed reeve-engine)
