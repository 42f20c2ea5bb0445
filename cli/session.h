/* SPDX-License-Identifier: Apache-2.0 */
/* A command's connection to the broker: the same cluster that services have, on a loop of its own
 * that runs while the command waits. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "replica/cluster.h"

struct cli_session {
    struct service_context context;
    struct cluster *cluster;
    struct metrics *metrics;
    bool ready;
};

/* Connects with `flags` of cluster_open and waits until the cluster is ready. On failure nothing is
 * left to close. */
enum error_class cli_session_open(struct cli *cli, unsigned flags, struct cli_session *session,
                                  struct error *ret_error);
void cli_session_close(struct cli_session *session);
/* Runs the loop until done(ctx); false = timeout_ms has passed. */
bool cli_session_wait(struct cli_session *session, bool (*done)(void *ctx), void *ctx,
                      int64_t timeout_ms);

/* The first offset of topic[partition] and the one after its last. Waits for the broker's answer;
 * RETRY "NoAnswer". */
enum error_class cli_session_offsets(struct cli_session *session, const char *topic,
                                     int32_t partition, int64_t *ret_low, int64_t *ret_high,
                                     struct error *ret_error);

#endif
