# SPDX-License-Identifier: Apache-2.0
#
# fuzz-http CORPUS: bytes that a client sends to the HTTP server.

reeve_fuzz(http SOURCES http_fuzz.c LIBS reeve-platform)
