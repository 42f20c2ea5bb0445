# SPDX-License-Identifier: Apache-2.0
#
# What tests of the broker share: a cluster (real, embedded or a mock), topics of their own, and
# notes of all that the broker says.

reeve_library(reeve-test-broker SOURCES broker_lab.c mock_cluster.c LIBS reeve-replica)
