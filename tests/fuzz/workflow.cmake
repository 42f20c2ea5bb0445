# SPDX-License-Identifier: Apache-2.0
#
# fuzz-workflow CORPUS: untrusted workflow files. examples/workflows is a good corpus to begin
# with, workflow.dict a good dictionary.

reeve_fuzz(workflow SOURCES workflow_fuzz.c LIBS reeve-workflow)
