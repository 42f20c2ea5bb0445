# SPDX-License-Identifier: Apache-2.0
#
# Which schedulers stand by for which partition.

reeve_test(standby SOURCES standby_test.c LIBS reeve-scheduler)
