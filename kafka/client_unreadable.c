/* SPDX-License-Identifier: Apache-2.0 */
/* Passing a batch that librdkafka cannot decompress. It reports such a batch again and again, names
 * its first offset, but not its last one. So the reader searches for the first offset behind the
 * batch: at growing distances until it reads something else, then by halving. Whatever it reads at
 * such a probe is dropped, except at the end of the search; no record of another batch is lost. */
#include "kafka/client_internal.h"

#include <assert.h>

/* The records are reported; reading goes on at `high`. */
static void finish(struct kafka_reader *reader)
{
    struct kafka_bad_batch bad = reader->bad;
    reader->bad.from = -1;
    reader->next_offset = bad.high;
    reader->last_offset = bad.high - 1;
    if (bad.probe != bad.high)
        kafka_reader_restart(reader, bad.high);
    reader->base.unreadable(reader->ctx, bad.from, bad.high);
}

/* True: the search is over. */
static bool go_on(struct kafka_reader *reader)
{
    struct kafka_bad_batch *bad = &reader->bad;
    assert(bad->high < 0 || bad->high > bad->low);
    if (bad->high == bad->low + 1) {
        finish(reader);
        return true;
    }
    int64_t known = bad->low - bad->from + 1; /* doubles while nothing else is found */
    bad->probe = bad->high >= 0 ? bad->low + (bad->high - bad->low) / 2 : bad->low + known;
    kafka_reader_restart(reader, bad->probe);
    return false;
}

void kafka_unreadable_batch(struct kafka_reader *reader, int64_t base)
{
    struct kafka_bad_batch *bad = &reader->bad;
    reader->tries_zero = false;
    if (bad->from < 0) {
        int64_t from = base > reader->next_offset ? base : reader->next_offset;
        *bad = (struct kafka_bad_batch){.from = from, .base = base, .low = from, .high = -1};
    } else if (base == bad->base) {
        bad->low = bad->probe;
    } else {
        /* Another one, which begins behind the first. */
        bad->high = base > bad->low && base < bad->probe ? base : bad->probe;
    }
    go_on(reader);
}

bool kafka_unreadable_passed(struct kafka_reader *reader)
{
    reader->bad.high = reader->bad.probe;
    return go_on(reader);
}
