# SPDX-License-Identifier: Apache-2.0
#
# fuzz-codec CORPUS: untrusted bytes and schemas. fuzz-json-codec CORPUS: untrusted JSON of records.

reeve_fuzz(codec SOURCES codec_fuzz.c input.c LIBS reeve-schemas reeve-engine)
reeve_fuzz(json-codec SOURCES json_codec_fuzz.c LIBS reeve-schemas reeve-platform)
