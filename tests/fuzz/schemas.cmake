# SPDX-License-Identifier: Apache-2.0
#
# fuzz-codec CORPUS: untrusted bytes and schemas.

reeve_fuzz(codec SOURCES codec_fuzz.c input.c LIBS reeve-schemas reeve-engine)
