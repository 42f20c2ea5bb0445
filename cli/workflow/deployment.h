/* SPDX-License-Identifier: Apache-2.0 */
/* Deploying a workflow file: `reeve workflow deploy` and `reeve dev`. */
#ifndef CLI_WORKFLOW_DEPLOYMENT_H
#define CLI_WORKFLOW_DEPLOYMENT_H

#include "base/heap_arena.h"
#include "cli/session.h"
#include "workflow/workflow_file.h"

/* A file, read and checked. */
struct workflow_source {
    const char *path; /* borrowed */
    char *text;
    size_t size;
    enum workflow_format format;
    struct heap_arena heap;
    struct workflow *workflow; /* NULL: there are errors among the problems */
    struct workflow_problems problems;
};

/* Reads and compiles. An error only if the file cannot be read; *ret_source may be deinitialized
 * then as well. */
enum error_class workflow_source_read(const char *path, struct workflow_source *ret_source,
                                      struct error *ret_error);
void workflow_source_deinit(struct workflow_source *source);

/* Appends the definition unless the same one is there. *ret_new: it was appended.
 * REJECT "OtherContent": that name and version are deployed with another text. The session
 * follows workflows. */
enum error_class workflow_deploy(struct cli_session *session, const struct workflow_source *source,
                                 bool *ret_new, struct error *ret_error);
/* Makes the requests topics of the workflow's agents where they are missing. */
enum error_class workflow_make_topics(struct cli_session *session, const struct workflow *workflow,
                                      struct error *ret_error);
/* The workflow's agents, each once; *ret_names (at least WORKFLOW_AGENTS_MAX) borrow. */
size_t workflow_agents(const struct workflow *workflow, struct text ret_names[]);

#endif
