/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `reeve schedule`. All return an exit code. */
#ifndef CLI_SCHEDULE_VERBS_H
#define CLI_SCHEDULE_VERBS_H

#include "cli/schedule/deployed.h"

int schedule_run_deploy(struct cli *cli); /* with --dry-run it needs no broker */
int schedule_run_list(struct cli *cli);
int schedule_run_get(struct cli *cli);
int schedule_run_pause(struct cli *cli); /* of a verb that is about a bool: it pauses, or resumes */
int schedule_run_delete(struct cli *cli);
int schedule_run_trigger(struct cli *cli);
int schedule_run_backfill(struct cli *cli);

/* For tests: the same in a session that follows workflows. */
int schedule_deploy_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_list_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_get_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_pause_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_delete_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_trigger_run(struct cli *cli, struct cli_session *session);
/* For tests. */
int schedule_backfill_run(struct cli *cli, struct cli_session *session);

/* Opens such a session for `run`. */
int schedule_run_in_session(struct cli *cli,
                            int (*run)(struct cli *cli, struct cli_session *session));

#endif
