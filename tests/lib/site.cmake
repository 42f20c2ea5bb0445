# SPDX-License-Identifier: Apache-2.0
#
# What tests on the broker in memory share: topics, records, a deployed workflow, an open cluster.

reeve_library(reeve-test-site SOURCES site.c LIBS reeve-simulation)
