# SPDX-License-Identifier: Apache-2.0
#
# fuzz-json CORPUS: untrusted JSON.

reeve_fuzz(json PURE SOURCES json_fuzz.c LIBS reeve-base)
