/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve leader` in a session that is open. */
#ifndef CLI_LEADER_H
#define CLI_LEADER_H

#include "cli/session.h"

/* For tests: prints the leader of each role; the exit code. */
int leader_show(struct cli *cli, struct cli_session *session);

#endif
