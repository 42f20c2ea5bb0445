# SPDX-License-Identifier: Apache-2.0
#
# What the auditor thinks of an order.

reeve_test(audit SOURCES audit_test.c LIBS reeve-supervisor)
