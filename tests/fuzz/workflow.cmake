# SPDX-License-Identifier: Apache-2.0
#
# fuzz-workflow CORPUS: untrusted workflow files.

reeve_fuzz(workflow SOURCES workflow_fuzz.c LIBS reeve-workflow)
