# SPDX-License-Identifier: Apache-2.0
#
# fuzz-election CORPUS: records of the topic of elections, and what happens to two candidates.

reeve_fuzz(election SOURCES election_fuzz.c input.c LIBS reeve-leader reeve-test-site)
