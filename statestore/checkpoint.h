/* SPDX-License-Identifier: Apache-2.0 */
/* How far a store has folded its partition of the log, and what the log looked like there.
 * Written in the same WriteBatch as the rows that it speaks of. */
#ifndef STATESTORE_CHECKPOINT_H
#define STATESTORE_CHECKPOINT_H

#include "base/error.h"
#include "engine/event.h"

enum {
    CLUSTER_ID_BYTES_MAX = 64,
    CHECKPOINT_SKIPS_MAX = 8 /* resets in the log of a partition that skip a part of it */
};

/* Nothing in [from, to) of the log counts: by the reset at offset `at`. */
struct skip_range {
    int64_t from;
    int64_t to;
    int64_t at;
};

struct checkpoint {
    char cluster_id[CLUSTER_ID_BYTES_MAX]; /* NUL-terminated; "" = nothing folded yet */
    struct uuid first_claim_id;            /* of events[p]: tells a topic from its re-creation */
    bool has_first_claim;
    bool has_claim;
    bool complete; /* every order of the log is here; false only after a trimmed start */
    int64_t next_event_offset; /* the fold goes on here */
    uint64_t last_record_hash; /* XXH3-64 of the value at next_event_offset - 1; 0 = none */
    struct uuid claim_id;      /* the latest Claim folded */
    int64_t next_sequence;     /* of that claim */
    int64_t next_command_offset;
    int64_t last_command_offset; /* -1: none yet */
    int64_t last_command_time;
    int64_t newest_decided_at;
    int64_t emitted_through;          /* largest seen in admitted Decisions; -1: none */
    int64_t previous_claim_decisions; /* Decisions that followed the claim before `claim_id` */
    int64_t guarded_offset;           /* command that the latest Attempts name; -1: none */
    int64_t guards;                   /* Attempts in a row for it without a Decision */
    int64_t skipped;                  /* records not admitted so far */
    int64_t claim_decisions;          /* Decisions that followed the claim `claim_id` */
    int64_t partition_count;          /* of the log, as the latest Claim states it; 0: no Claim */
    int64_t state_format;             /* the newest STATE_FORMAT that the log has shown; 0: none */
    int64_t start;                    /* the fold began here, where the log began; 0: untrimmed */
    int64_t trimmed;                  /* largest X of an admitted Trimmed{X}; 0: none */
    int64_t skip_count;
    struct skip_range skips[CHECKPOINT_SKIPS_MAX]; /* of resets folded, or known to lie ahead */
};

/* Its bytes in the store: fixed size, little-endian.
 *
 *     format u32 | flags u32 (1 = has_first_claim, 2 = has_claim,
 *     4 = complete) | cluster_id 64
 *     | first_claim_id 16 | claim_id 16
 *     | the int64 and uint64 fields in the order of the struct, 18 x 8
 *     | the skips: from, to, at, 8 x 3 x 8 | XXH3-64 u64
 *
 * CHECKPOINT_FORMAT stands for the layout of the whole store: it rises with any change of a key
 * or a value. A store of another format is StoreFormat, thus folded again. */
enum {
    CHECKPOINT_FORMAT = 9,
    CHECKPOINT_BYTES =
        4 + 4 + CLUSTER_ID_BYTES_MAX + 2 * 16 + 18 * 8 + CHECKPOINT_SKIPS_MAX * 3 * 8 + 8
};

void checkpoint_encode(const struct checkpoint *checkpoint, uint8_t ret_bytes[CHECKPOINT_BYTES]);
/* FATAL "StoreFormat": of another release; "StoreCorrupt" when size, checksum or a value is not as
 * checkpoint_encode() makes it. */
enum error_class checkpoint_decode(struct text bytes, struct checkpoint *ret_checkpoint,
                                   struct error *ret_error);

#endif
