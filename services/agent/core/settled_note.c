/* SPDX-License-Identifier: Apache-2.0 */
/* See settled_note.h. */
#include "services/agent/core/settled_note.h"

#include "base/numbers.h"
#include "base/text.h"
#include "kafka/broker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)SETTLED_NOTE_SIZE == (int)BROKER_NOTE_BYTES_MAX + 1, "a note and its NUL");

#define PREFIX "settled "

struct writer {
    char note[SETTLED_NOTE_SIZE];
    size_t size;
    int64_t at; /* behind the latest range */
    uint32_t count;
};

/* False: the note is full. */
static bool write_range(struct writer *writer, int64_t first, int64_t last)
{
    size_t left = sizeof(writer->note) - writer->size;
    assert(first > writer->at && last >= first);
    int more = snprintf(writer->note + writer->size, left, "%s%" PRId64 "+%" PRId64,
                        writer->count > 0 ? "," : PREFIX, first - writer->at, last - first + 1);
    if (writer->count == SETTLED_RANGES_MAX || more < 0 || (size_t)more >= left) {
        writer->note[writer->size] = '\0';
        return false;
    }
    writer->size += (size_t)more;
    writer->at = last + 1;
    writer->count++;
    return true;
}

/* Of the requests that were read. */
static bool write_read(struct writer *writer, const struct agent_offsets *offsets)
{
    for (uint64_t place = offsets->first; place < offsets->end;) {
        const struct agent_offsets_slot *first = agent_offsets_slot(offsets, place++);
        const struct agent_offsets_slot *last = first;
        if (!first->settled)
            continue;
        for (; place < offsets->end; place++) {
            const struct agent_offsets_slot *slot = agent_offsets_slot(offsets, place);
            if (!slot->settled)
                break;
            last = slot;
        }
        if (!write_range(writer, first->offset, last->offset))
            return false;
    }
    return true;
}

void settled_note_write(const struct agent_offsets *offsets, const struct settled_ranges *known,
                        char ret_note[SETTLED_NOTE_SIZE])
{
    struct writer writer = {.at = offsets->position};
    bool fits = write_read(&writer, offsets);
    for (uint32_t i = known->next; fits && i < known->count; i++) {
        int64_t first = known->ranges[i].first;
        /* Behind what was read, and not next to it: the request at the position is not settled. */
        first = first > offsets->next ? first : offsets->next;
        first = first > writer.at ? first : writer.at + 1;
        if (first <= known->ranges[i].last)
            fits = write_range(&writer, first, known->ranges[i].last);
    }
    memcpy(ret_note, writer.note, writer.size + 1);
}

static bool take_character(struct text *rest, char c)
{
    if (rest->size == 0 || rest->data[0] != c)
        return false;
    *rest = text_from(*rest, 1);
    return true;
}

/* A range, behind `at`. */
static bool take_range(struct text *rest, int64_t at, struct settled_range *ret_range)
{
    uint64_t skip, count;
    if (!number_take(rest, INT64_MAX / 4, &skip) || skip == 0 || !take_character(rest, '+') ||
        !number_take(rest, INT64_MAX / 4, &count) || count == 0 || at > INT64_MAX / 4)
        return false;
    ret_range->first = at + (int64_t)skip;
    ret_range->last = ret_range->first + (int64_t)count - 1;
    return true;
}

void settled_note_read(const char *note, int64_t position, struct settled_ranges *ret_ranges)
{
    struct text rest = text_of(note);
    int64_t at = position;
    ret_ranges->count = ret_ranges->next = 0;
    if (strncmp(note, PREFIX, strlen(PREFIX)) != 0 || position < 0)
        return;
    rest = text_from(rest, (uint32_t)strlen(PREFIX));
    uint32_t count = 0;
    do {
        if (count == SETTLED_RANGES_MAX || !take_range(&rest, at, &ret_ranges->ranges[count]))
            return;
        at = ret_ranges->ranges[count++].last + 1;
    } while (take_character(&rest, ','));
    if (rest.size == 0)
        ret_ranges->count = count;
}

bool settled_ranges_pass(struct settled_ranges *ranges, int64_t offset)
{
    while (ranges->next < ranges->count && ranges->ranges[ranges->next].last < offset)
        ranges->next++;
    return ranges->next < ranges->count && ranges->ranges[ranges->next].first <= offset;
}
