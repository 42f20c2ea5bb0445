# SPDX-License-Identifier: Apache-2.0
#
# What tests of the broker share: a cluster (real or embedded), topics of their own, and notes of
# all that the broker says.

reeve_library(reeve-test-broker SOURCES broker_lab.c LIBS reeve-replica)
