# SPDX-License-Identifier: Apache-2.0
#
# fuzz-engine CORPUS: orders of a store, Decisions of a log, and commands about them.

reeve_fuzz(engine SOURCES engine_fuzz.c LIBS reeve-test-engine reeve-schemas reeve-engine)
