/* SPDX-License-Identifier: Apache-2.0 */
/* Workflow files: YAML or JSON text -> a compiled workflow, with every mistake explained by line
 * and column. docs/use/workflows.md is the users' reference. */
#ifndef WORKFLOW_WORKFLOW_FILE_H
#define WORKFLOW_WORKFLOW_FILE_H

#include "base/arena.h"
#include "engine/workflow.h"

enum workflow_format { WORKFLOW_YAML, WORKFLOW_JSON, WORKFLOW_FORMAT_COUNT };
/* A note says what is often meant otherwise: only who asks for notes gets them. */
enum workflow_severity { WORKFLOW_ERROR, WORKFLOW_WARNING, WORKFLOW_NOTE, WORKFLOW_SEVERITY_COUNT };

enum { WORKFLOW_PROBLEMS_MAX = 100, WORKFLOW_PROBLEM_TEXT_SIZE = 256 };

struct workflow_problem {
    enum workflow_severity severity;
    uint32_t line;   /* from 1; 0 = about the whole file */
    uint32_t column; /* from 1 */
    char text[WORKFLOW_PROBLEM_TEXT_SIZE];
};

struct workflow_problems {
    struct workflow_problem items[WORKFLOW_PROBLEMS_MAX]; /* in order of line and column */
    uint32_t count;
    uint32_t errors; /* of them; what did not fit is counted too */
};

/* Compiles the text into *ret_workflow, wholly in `arena`. False when there are errors (then
 * nothing is returned); warnings may be there either way. Never reads files. */
bool workflow_parse(struct text text, enum workflow_format format, struct arena *arena,
                    struct workflow_problems *ret_problems, struct workflow **ret_workflow);
/* The same, with notes. */
bool workflow_parse_with_notes(struct text text, enum workflow_format format, struct arena *arena,
                               struct workflow_problems *ret_problems,
                               struct workflow **ret_workflow);
/* Of a text that was deployed: rules for new texts alone do not apply to it, so that a version that
 * has orders stays available whatever lint refuses later. Expressions are parsed, and that their
 * names are known; guards and kinds of values are not checked. */
bool workflow_parse_deployed(struct text text, enum workflow_format format, struct arena *arena,
                             struct workflow_problems *ret_problems,
                             struct workflow **ret_workflow);

const char *workflow_format_name(enum workflow_format format);       /* "yaml", "json" */
const char *workflow_severity_name(enum workflow_severity severity); /* "error" ... */
/* By a file's name: ".json" or else YAML. */
enum workflow_format workflow_format_of(const char *path);

#endif
