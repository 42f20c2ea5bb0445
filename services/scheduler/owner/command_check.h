/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a record of commands[p] is a command that may be decided: the same rules as at the front
 * door, because a writer may be old, faulty or foreign. A command that fails becomes a dead
 * letter. */
#ifndef SERVICES_SCHEDULER_OWNER_COMMAND_CHECK_H
#define SERVICES_SCHEDULER_OWNER_COMMAND_CHECK_H

#include "kafka/topics/topics.h"
#include "replica/cluster/dead_letter.h"
#include "schemas/avro/codec.h"

/* A record that was read and not yet decided, with its key and value behind it. */
struct pending_command {
    struct pending_command *next;
    int64_t offset;
    int64_t timestamp;
    struct text key;
    struct text value;
    struct dead_letter_cut cut; /* of a record that is too large to be a command */
    int64_t unreadable_from;    /* it stands for all records from this one to its own offset, which
                                   nothing can read; -1: it was read */
    struct command_header *headers;
    uint32_t header_count;
    bool schemas_fresh; /* read to their end since the command was read */
    bool workflows_fresh;
    char bytes[];
};

/* New: a copy of the record, cut if it is too large. */
struct pending_command *pending_command_new(const struct broker_record *record);
/* New: for the records from `offset` to before `next_offset`, which nothing can read. They are
 * consumed by one Decision, which has the offset of the last one. */
struct pending_command *pending_command_unreadable(int64_t offset, int64_t next_offset);
void pending_command_free(struct pending_command *pending);
/* The bytes that it holds. */
size_t pending_command_size(const struct pending_command *pending);

/* Decodes; texts borrow from the record or are in the arena. REJECT: it is not a valid command; the
 * code and the reason are for its dead letter. "UnknownSchema" may change once <p>.schemas is read
 * again. RETRY, code "NewerVersion": only a newer version can read it. */
enum error_class pending_command_read(const struct pending_command *pending, struct codec *codec,
                                      const struct topics *topics, int32_t partition,
                                      int32_t partition_count, struct arena *arena,
                                      struct command *ret_cmd, struct error *ret_error);
/* Stands for a record that is not a command. Borrows from it. */
struct command pending_command_dead(const struct pending_command *pending,
                                    const struct error *error, bool quarantined,
                                    struct arena *arena);

#endif
