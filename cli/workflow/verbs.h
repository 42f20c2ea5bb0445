/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `reeve workflow`, and what they share. */
#ifndef CLI_WORKFLOW_VERBS_H
#define CLI_WORKFLOW_VERBS_H

#include "cli/workflow/deployment.h"

struct output;

/* As rows of `output`, or, if that is NULL, on stderr like the messages of a compiler. */
void workflow_print_problems(struct cli *cli, struct output *output, const char *path,
                             const struct workflow_problems *problems);

/* NAME or NAME:VERSION; *ret_version 0: none. */
bool workflow_parse_name(const char *argument, struct text *ret_name, uint32_t *ret_version);

struct agent_check;

/* For tests: deploys one file that was read and compiled, with a row of `output` and the warnings.
 * The session follows workflows; the exit code. */
int workflow_deploy_run(struct cli *cli, struct cli_session *session, struct agent_check *agents,
                        struct workflow_file *file, struct output *output);

/* What follows for agents once new orders take `after` instead of `before` (NULL: of none). */
void workflow_warn_of_changes(struct cli *cli, const struct workflow *before,
                              const struct workflow *after);

/* For tests: changes which version new orders take, with --by and --reason, and prints the result.
 * The session follows workflows; the exit code. */
int workflow_change_run(struct cli *cli, struct cli_session *session, enum workflow_change what,
                        struct text name, uint32_t version);

int workflow_run_lint(struct cli *cli);
int workflow_run_deploy(struct cli *cli);
int workflow_run_list(struct cli *cli);
int workflow_run_show(struct cli *cli);
int workflow_run_graph(struct cli *cli);
int workflow_run_schema(struct cli *cli);
int workflow_run_diff(struct cli *cli);
int workflow_run_eval(struct cli *cli);
int workflow_run_change(struct cli *cli); /* of a verb that is about an enum workflow_change */

#endif
