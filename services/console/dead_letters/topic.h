/* SPDX-License-Identifier: Apache-2.0 */
/* <p>.dead-letters as the console reads it: followed into an index; single records and ranges of
 * them on demand.
 *
 * A broker reads a partition once at a time. So a request for records interrupts the follower of
 * its partition, which goes on where it was when they have been read.
 *
 * The follower begins where the newest records begin. From there on it knows every resolution;
 * ranges that are read below extend that, without a gap. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_TOPIC_H
#define SERVICES_CONSOLE_DEAD_LETTERS_TOPIC_H

#include "replica/cluster/cluster.h"
#include "services/console/dead_letters/index.h"
#include "services/console/dead_letters/states.h"

#include <jansson.h>

struct dead_letter_topic;

/* New. `moved` is called after the follower of a partition got further. */
struct dead_letter_topic *dead_letter_topic_new(struct cluster *cluster, uint32_t entries_max,
                                                void (*moved)(void *ctx, int32_t partition),
                                                void *ctx);
/* Before cluster_close(): nothing is read any more; callers that wait get no answer. */
void dead_letter_topic_close(struct dead_letter_topic *topic);
/* After cluster_close(). */
void dead_letter_topic_free(struct dead_letter_topic *topic);

const struct dead_letter_index *dead_letter_topic_index(const struct dead_letter_topic *topic);
int32_t dead_letter_topic_partitions(const struct dead_letter_topic *topic);
/* All below it is in the index. */
int64_t dead_letter_topic_position(const struct dead_letter_topic *topic, int32_t partition);
/* body.incomplete: the partitions that are not read to their end, with the reason; left out if
 * there are none. */
void dead_letter_topic_put_incomplete(const struct dead_letter_topic *topic, json_t *body);

/* Reads the record at the offset. `record` is borrowed for the call; NULL: REJECT
 * "UnknownDeadLetter" there is none, RETRY it cannot be read now. Calls `done` once, later. */
typedef void (*dead_letter_fetched)(void *ctx, const struct broker_record *record,
                                    const struct error *error);
void dead_letter_topic_fetch(struct dead_letter_topic *topic, int32_t partition, int64_t offset,
                             dead_letter_fetched done, void *ctx);
/* Reads the records from `from` to before `to`: `each` is called for every one that is not a
 * resolution, then `done`, once. `is_first`: there are no records before them; an error is RETRY.
 * Borrowed for the calls. */
typedef void (*dead_letter_each)(void *ctx, const struct broker_record *record,
                                 const struct dead_letter_reading *reading);
typedef void (*dead_letter_scanned)(void *ctx, bool is_first, const struct error *error);
void dead_letter_topic_scan(struct dead_letter_topic *topic, int32_t partition, int64_t from,
                            int64_t to, dead_letter_each each, dead_letter_scanned done, void *ctx);
/* Below it, dead letters are not in the index: they have to be read. */
int64_t dead_letter_topic_older_end(const struct dead_letter_topic *topic, int32_t partition);
/* There are no records below it. */
int64_t dead_letter_topic_low(const struct dead_letter_topic *topic, int32_t partition);
/* Resolutions at this offset and beyond it are known, up to the position; -1: none are. */
int64_t dead_letter_topic_known_from(const struct dead_letter_topic *topic, int32_t partition);
enum dead_letter_state dead_letter_topic_state(const struct dead_letter_topic *topic,
                                               int32_t partition, int64_t offset);
/* Nothing with this ctx is called any more. */
void dead_letter_topic_cancel(struct dead_letter_topic *topic, const void *ctx);

#endif
