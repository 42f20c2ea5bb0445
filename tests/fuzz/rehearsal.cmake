# SPDX-License-Identifier: Apache-2.0
#
# fuzz-rehearsal CORPUS: untrusted files of tests.

reeve_fuzz(rehearsal SOURCES rehearsal_fuzz.c LIBS reeve-rehearsal)
