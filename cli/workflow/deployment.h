/* SPDX-License-Identifier: Apache-2.0 */
/* Deploying a workflow file: `reeve workflow deploy` and `reeve dev`. */
#ifndef CLI_WORKFLOW_DEPLOYMENT_H
#define CLI_WORKFLOW_DEPLOYMENT_H

#include "base/heap_arena.h"
#include "cli/session.h"
#include "workflow/lifecycle.h"

/* A file, read and checked. */
struct workflow_file {
    const char *path; /* borrowed */
    char *text;
    size_t size;
    enum workflow_format format;
    struct heap_arena heap;
    struct workflow *workflow; /* NULL: there are errors among the problems */
    struct workflow_problems problems;
};

/* Reads and compiles. An error only if the file cannot be read. */
enum error_class workflow_file_read(const char *path, struct workflow_file *ret_file,
                                    struct error *ret_error);
/* The same, with notes among the problems. */
enum error_class workflow_file_read_with_notes(const char *path, struct workflow_file *ret_file,
                                               struct error *ret_error);
void workflow_file_deinit(struct workflow_file *file);

/* Appends the definition unless the same one is there, and, where they are needed, activations with
 * which new orders take it, or, if not `activate`, go on to take the version that they take now.
 * *ret_result: a literal for people. REJECT "OtherContent": that name and version are deployed with
 * another text. The session follows workflows. */
enum error_class workflow_deploy(struct cli_session *session, const struct workflow_file *file,
                                 bool activate, const char **ret_result, struct error *ret_error);
/* Appends an activation: new orders that name no version take this one, or, if not `active`, it is
 * retired. `by` empty: user@host. The version is deployed. */
enum error_class workflow_activate(struct cli_session *session, struct text name, uint32_t version,
                                   bool active, struct text by, struct text reason,
                                   struct error *ret_error);
/* Makes the requests topics of the workflow's agents where they are missing, with as many
 * partitions and replicas as commands has. Changes no topic that exists. */
enum error_class workflow_make_topics(struct cli_session *session, const struct workflow *workflow,
                                      struct error *ret_error);

#endif
