/* SPDX-License-Identifier: Apache-2.0 */
/* What both verbs of `reeve export` share: one run over the partitions, into a directory that only
 * one run at a time writes to. */
#ifndef CLI_EXPORT_EXPORT_H
#define CLI_EXPORT_EXPORT_H

#include "cli/export/group.h"
#include "cli/export/segment.h"
#include "cli/progress.h"
#include "cli/session.h"

/* One run. */
struct export_run {
    struct cli *cli;
    struct cli_session *session;
    struct segment_series series; /* of the partition under way */
    int64_t until_ms;             /* records appended at or after this are left for later */
    struct export_group *group;   /* NULL: none */
    bool suborders;               /* they are exported as roots are */
    struct progress progress;
    uint64_t exported; /* all partitions, for the progress */
};

/* One partition: what is read, and what became of it. */
struct export_partition {
    struct export_run *run;
    int64_t first;   /* where this run begins */
    int64_t next;    /* everything below is read */
    int64_t written; /* everything below is in complete files */
    int64_t end;     /* the log's end when the partition began */
    struct segment *segment;
    uint64_t records;   /* exported */
    uint64_t undecoded; /* of these, kept as bytes */
    int64_t trimmed;    /* offsets from `first` on that the log lost before they were read */
    uint64_t lost;      /* orders that ended, of which only the end was left */
    bool unsettled;     /* what ended before `next` may be added later: no file is closed */
    uint32_t files;
    bool done;
    struct error error;
};

/* Exports [first, end) of the partition. */
typedef enum error_class (*export_partition_run)(struct export_partition *partition,
                                                 struct error *ret_error);

/* Both verbs: `what` names the files, `schema` is new and freed here. The exit code. */
int export_run(struct cli *cli, const char *what, char *schema, export_partition_run run);

/* The segment that the next record goes into. False: it cannot be opened, partition->error has the
 * reason and the partition is done. */
bool export_begin_record(struct export_partition *partition);
/* The record is in the segment; closes it if it is full. `next`: the offset after all that is read.
 */
void export_end_record(struct export_partition *partition, int64_t next);
/* For cli_session_wait(). */
bool export_is_done(void *ctx);
/* Waits for `done`, with progress. */
void export_wait(struct export_partition *partition, bool (*done)(void *ctx), void *ctx);

/* The log begins at `start` now. */
void export_note_start(struct export_partition *partition, int64_t start);

/* For tests: the export_partition_run of each verb. */
enum error_class export_events_of(struct export_partition *partition, struct error *ret_error);
enum error_class export_orders_of(struct export_partition *partition, struct error *ret_error);
int export_events(struct cli *cli);
int export_orders(struct cli *cli);

#endif
