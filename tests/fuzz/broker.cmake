# SPDX-License-Identifier: Apache-2.0
#
# fuzz-broker CORPUS: requests that a client sends to the embedded broker.

reeve_fuzz(broker SOURCES broker_fuzz.c LIBS reeve-kafka)
