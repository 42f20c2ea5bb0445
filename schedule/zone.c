/* SPDX-License-Identifier: Apache-2.0 */
/* See zone.h. Below: local times; the bytes of a file. Its rule is parsed in zone_rule.c. */
#include "schedule/zone.h"

#include "base/bytes.h"
#include "schedule/zone_rule.h"

#include <assert.h>

/* ---- local times ---- */

/* Before the rule holds. */
static struct zone_span named_span(const struct zone *zone, int64_t at)
{
    const struct zone_change *changes = zone->changes;
    uint32_t low = 0;
    uint32_t high = zone->change_count; /* the first change after `at` is in [low, high] */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (changes[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct zone_span){.begin = low > 0 ? changes[low - 1].at : INT64_MIN,
                              .end = low < zone->change_count ? changes[low].at : INT64_MAX,
                              .offset_s =
                                  low > 0 ? changes[low - 1].offset_s : zone->first_offset_s};
}

struct zone_span zone_span_at(const struct zone *zone, int64_t at)
{
    int64_t last = zone->change_count > 0 ? zone->changes[zone->change_count - 1].at : INT64_MIN;
    if (!zone->has_rule || at < last)
        return named_span(zone, at);
    struct zone_span span = zone_rule_span(&zone->rule, at);
    if (span.begin < last)
        span.begin = last;
    assert(span.begin <= at && at < span.end);
    return span;
}

int64_t zone_moment_of(const struct zone *zone, int64_t local)
{
    struct zone_span span = zone_span_at(zone, local - ZONE_OFFSET_MAX);
    for (;;) {
        int64_t at = local - span.offset_s;
        if (at < span.begin)
            return span.begin;
        if (at < span.end)
            return at;
        span = zone_span_at(zone, span.end);
    }
}

/* ---- TZif ---- */

enum { HEADER_BYTES = 44, TYPE_BYTES = 6 };

struct counts {
    uint64_t is_ut, is_standard, leaps, changes, types, characters;
};

static struct text take(struct text *rest, uint64_t size)
{
    struct text taken = {rest->data, (uint32_t)size};
    assert(size <= rest->size);
    *rest = text_from(*rest, (uint32_t)size);
    return taken;
}

static bool take_header(struct text *rest, struct counts *ret_counts)
{
    if (rest->size < HEADER_BYTES || memcmp(rest->data, "TZif", 4) != 0 || rest->data[4] < '2')
        return false;
    const char *at = rest->data + 20;
    uint64_t *counts[] = {&ret_counts->is_ut,   &ret_counts->is_standard, &ret_counts->leaps,
                          &ret_counts->changes, &ret_counts->types,       &ret_counts->characters};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = bytes_get_be(at + 4 * i, 4);
    *rest = text_from(*rest, HEADER_BYTES);
    return true;
}

/* Counts have 32 bits each, so the sum does not overflow. */
static uint64_t block_bytes(const struct counts *counts, uint64_t time_bytes)
{
    return counts->changes * (time_bytes + 1) + counts->types * TYPE_BYTES + counts->characters +
           counts->leaps * (time_bytes + 4) + counts->is_standard + counts->is_ut;
}

static bool offset_of(struct text types, uint64_t type, int32_t *ret_offset_s)
{
    if (type * TYPE_BYTES >= types.size)
        return false;
    int32_t offset_s = (int32_t)(uint32_t)bytes_get_be(types.data + type * TYPE_BYTES, 4);
    if (offset_s <= -ZONE_OFFSET_MAX || offset_s >= ZONE_OFFSET_MAX)
        return false;
    *ret_offset_s = offset_s;
    return true;
}

static const char *read_changes(struct text block, const struct counts *counts, struct arena *arena,
                                struct zone *zone)
{
    struct text times = take(&block, counts->changes * 8);
    struct text indexes = take(&block, counts->changes);
    struct text types = take(&block, counts->types * TYPE_BYTES);
    struct zone_change *changes = ARENA_ARRAY(arena, struct zone_change, counts->changes);
    if (!offset_of(types, 0, &zone->first_offset_s))
        return "its first offset from UTC is missing or too large";
    for (uint32_t i = 0; i < counts->changes; i++) {
        changes[i].at = (int64_t)bytes_get_be(times.data + 8 * (size_t)i, 8);
        if (i > 0 && changes[i].at <= changes[i - 1].at)
            return "its changes are not in the order of time";
        if (!offset_of(types, (uint8_t)indexes.data[i], &changes[i].offset_s))
            return "an offset from UTC is missing or too large";
    }
    zone->changes = changes;
    zone->change_count = (uint32_t)counts->changes;
    return NULL;
}

/* "\nCET-1CEST,M3.5.0,M10.5.0/3\n"; nothing between the two: there is no rule. */
static const char *read_footer(struct text rest, struct zone *zone)
{
    if (rest.size < 2 || rest.data[0] != '\n' || rest.data[rest.size - 1] != '\n')
        return "its footer is missing";
    struct text rule = {rest.data + 1, rest.size - 2};
    if (text_empty(rule))
        return NULL;
    zone->has_rule = zone_rule_parse(rule, &zone->rule);
    return zone->has_rule ? NULL : "its rule for years to come is not one of POSIX";
}

const char *zone_parse(struct text file, struct arena *arena, struct zone *ret_zone)
{
    struct counts counts;
    struct zone zone = {0};
    struct text rest = file;
    /* The first block is for readers of 32 bits; the second one has the same header again. */
    if (!take_header(&rest, &counts))
        return "it is not a TZif file of version 2 or later";
    if (block_bytes(&counts, 4) > rest.size)
        return "it is cut off";
    take(&rest, block_bytes(&counts, 4));
    if (!take_header(&rest, &counts) || block_bytes(&counts, 8) > rest.size)
        return "it is cut off";
    if (counts.leaps > 0)
        return "it counts leap seconds";
    if (counts.changes > ZONE_CHANGES_MAX)
        return "it has too many changes";
    const char *problem = read_changes(take(&rest, block_bytes(&counts, 8)), &counts, arena, &zone);
    if (problem == NULL)
        problem = read_footer(rest, &zone);
    if (problem == NULL)
        *ret_zone = zone;
    return problem;
}
