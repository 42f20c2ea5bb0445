/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' changes to the versions of workflows:
 *
 *     POST /api/workflows                                {"by", "source", "format", "activate"}
 *     POST /api/workflows/{name}/{version}/activate      {"by": "ann", "reason": "tested"}
 *     POST /api/workflows/{name}/{version}/retire
 *     POST /api/workflows/{name}/rollback
 *
 * Each request becomes records of <p>.workflows; it is answered with the version as this console
 * has read it back. workflow/lifecycle.h decides what is appended and what is refused: 404 for an
 * unknown version, 409 with the reason for the rest, 400 with a list of problems for a text that
 * does not compile. */
#ifndef SERVICES_CONSOLE_API_WORKFLOW_CHANGES_H
#define SERVICES_CONSOLE_API_WORKFLOW_CHANGES_H

#include "platform/http/server.h"
#include "replica/agents/agent_table.h"
#include "replica/cluster/cluster.h"
#include "workflow/lifecycle.h"

struct workflow_changes;

enum { WORKFLOW_CHANGES_WAIT_MS = 30000, WORKFLOW_CHANGES_UNDER_WAY_MAX = 16 };

/* Borrows both until workflow_changes_drain(); the cluster follows workflows. */
struct workflow_changes *workflow_changes_new(struct cluster *cluster,
                                              const struct agent_table *agents);
/* Answers the outstanding requests and accepts no more. Before cluster_close(). */
void workflow_changes_drain(struct workflow_changes *changes);
/* After cluster_close(). NULL does nothing. */
void workflow_changes_free(struct workflow_changes *changes);

/* Answer the exchange, at once when it is refused. {name} and, but for a rollback, {version} are
 * in the path. */
void workflow_changes_serve(struct workflow_changes *changes, enum workflow_change change,
                            struct http_exchange *exchange);
void workflow_changes_serve_deployment(struct workflow_changes *changes,
                                       struct http_exchange *exchange);

#endif
