/* SPDX-License-Identifier: Apache-2.0 */
/* A command's connection to the broker: the same cluster that services have, on a loop of its own
 * that runs while the command waits. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "replica/cluster/cluster.h"

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

/* What cli_session_read() reads. */
struct cli_reading {
    const char *topic;
    int32_t partition;
    int64_t next;       /* from here, or BROKER_EARLIEST; then the offset behind what was read */
    int64_t end;        /* up to here; 0: to the end that the topic has */
    int64_t timeout_ms; /* then RETRY "NoAnswer"; 0: as long as it takes */
    /* Without its headers. False: nothing more is wanted. */
    bool (*record)(void *ctx, const struct broker_record *record);
    /* Likewise, of records that nothing can read; NULL: FATAL "Unreadable". */
    bool (*unreadable)(void *ctx, int64_t offset, int64_t next_offset);
    void *ctx;
};

/* Reads topic[partition] to its end. Anything but OK: only a part of it was read. */
enum error_class cli_session_read(struct cli_session *session, struct cli_reading *reading,
                                  struct error *ret_error);

#endif
