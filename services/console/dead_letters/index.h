/* SPDX-License-Identifier: Apache-2.0 */
/* The newest dead letters, in memory, without keys, values and headers, which are read from the
 * topic when they are asked for. Older ones are listed from the topic (list.c).
 *
 * Sorted by (appended_at, partition, offset), the newest first; within a partition a time that goes
 * backwards counts as the one before. Of more than `entries_max` the oldest is forgotten. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_INDEX_H
#define SERVICES_CONSOLE_DEAD_LETTERS_INDEX_H

#include "replica/cluster/dead_letter.h"
#include "schemas/records.h"
#include "services/console/dead_letters/states.h"

enum {
    DEAD_LETTER_LIST_MAX = 20000,
    DEAD_LETTER_PAGE_MAX = 1000,
    /* What the index keeps of texts; `get` shows all of them. */
    DEAD_LETTER_CODE_KEPT = 64,
    DEAD_LETTER_MESSAGE_KEPT = 256
};

struct dead_letter_entry {
    int32_t partition;
    int64_t offset;
    int64_t at; /* by which it is sorted */
    int64_t appended_at;
    struct text topic; /* where it comes from; empty: it is not a dead letter of reeve */
    int32_t from_partition;
    int64_t from_offset;
    struct text code;
    struct text message;
    struct text order_id;                      /* empty: unknown */
    uint64_t value_bytes;                      /* of the record that it is of */
    bool is_cut;                               /* the dead letter does not hold all of that */
    struct dead_letter_resolution *resolution; /* NULL: open */
    int64_t resolution_offset;
};

/* New. `reading` NULL: it is not a dead letter. */
struct dead_letter_entry *dead_letter_entry_new(const struct broker_record *record,
                                                const struct dead_letter_reading *reading);
void dead_letter_entry_free(struct dead_letter_entry *entry);
/* As its resolution has it. */
enum dead_letter_state dead_letter_entry_state(const struct dead_letter_entry *entry);

struct dead_letter_index;

struct dead_letter_index *dead_letter_index_new(int32_t partition_count, uint32_t entries_max);
void dead_letter_index_free(struct dead_letter_index *index);

/* Records of a partition come in the order of their offsets; one that is known already changes
 * nothing. `reading` NULL: it is not a dead letter. */
void dead_letter_index_add(struct dead_letter_index *index, const struct broker_record *record,
                           const struct dead_letter_reading *reading);
/* Only the first resolution of an entry counts. Unknown ones are ignored. */
void dead_letter_index_resolve(struct dead_letter_index *index,
                               const struct dead_letter_resolution *resolution, int64_t offset);
/* NULL: not among the newest. Borrowed until the index changes, like all entries. */
const struct dead_letter_entry *dead_letter_index_find(const struct dead_letter_index *index,
                                                       int32_t partition, int64_t offset);
/* The oldest of the partition that is remembered; NULL: none is. */
const struct dead_letter_entry *dead_letter_index_oldest(const struct dead_letter_index *index,
                                                         int32_t partition);
/* Some of the partition were forgotten. */
bool dead_letter_index_has_forgotten(const struct dead_letter_index *index, int32_t partition);
/* The partition is read again. */
void dead_letter_index_clear(struct dead_letter_index *index, int32_t partition);

uint32_t dead_letter_index_open(const struct dead_letter_index *index);
/* How many were forgotten because there were more. */
uint64_t dead_letter_index_forgotten(const struct dead_letter_index *index);

/* Where a page ended. As a text: "AT.PARTITION.OFFSET"; beyond the index, which it has left behind
 * after that entry, "AT.PARTITION.OFFSET.PARTITION.BEFORE". */
struct dead_letter_cursor {
    int64_t at;
    int32_t partition;
    int64_t offset;
    bool is_beyond; /* the index: the next ones are those of `older_partition` before `before` */
    int32_t older_partition;
    int64_t before;
};
enum { DEAD_LETTER_CURSOR_SIZE = 128 };
void dead_letter_cursor_encode(const struct dead_letter_cursor *cursor,
                               char ret_text[DEAD_LETTER_CURSOR_SIZE]);
bool dead_letter_cursor_decode(struct text text, struct dead_letter_cursor *ret_cursor);

/* Empty texts: any. */
struct dead_letter_filter {
    struct text topic;
    struct text code;
    int64_t since; /* ms */
    int64_t until; /* before then; 0: any */
    bool all;      /* also those that are resolved */
    bool has_after;
    struct dead_letter_cursor after;
};
bool dead_letter_filter_takes(const struct dead_letter_filter *filter,
                              const struct dead_letter_entry *entry, bool is_open);

/* The next entries of the list, at most `limit`; returns how many. *ret_more: there are others. */
uint32_t dead_letter_index_page(const struct dead_letter_index *index,
                                const struct dead_letter_filter *filter, uint32_t limit,
                                const struct dead_letter_entry *ret_entries[], bool *ret_more);

#endif
