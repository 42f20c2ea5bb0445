/* SPDX-License-Identifier: Apache-2.0 */
/* What a running owner writes to its log: Decisions, command guards, Continuations, Statements and
 * Expiries, one kind at a time. While they are on their way, nothing else is written or stored. */
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <stdio.h>

/* Whether our record was acknowledged where it must be; if not, gives the claim up. The only
 * legitimate writer sees consecutive offsets: anything else means that another process writes here,
 * or that it is unknown what was written. */
static bool is_as_expected(struct owner *owner, int64_t offset, const struct error *error)
{
    assert(owner_is_running(owner));
    assert(owner->in_flight.expected_offset > 0);
    assert(owner->in_flight.expected_offset <
           follower_checkpoint(owner->follower)->next_event_offset);
    if (error != NULL && error_is(error))
        owner_give_up_for(owner, error);
    else if (offset != owner->in_flight.expected_offset)
        owner_give_up(owner, CODE_NOT_ALONE, "another process has written to the log");
    else {
        owner->in_flight.expected_offset++;
        return true;
    }
    return false;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_APPENDING)
        return;
    const struct owner_record *record = owner->in_flight.record;
    assert(record != NULL && owner->in_flight.acknowledged < owner->in_flight.sent);
    if (!is_as_expected(owner, offset, error))
        return;
    owner->progress++;
    if (++owner->in_flight.acknowledged < owner->in_flight.sent)
        return;
    owner_append_end(owner);
    assert(owner_has_appended(owner));
    owner_measure_clock(owner, owner->in_flight.sent_us);
    owner_set_state(owner, OWNER_RUNNING);
    record->acknowledged(owner, offset);
}

bool owner_append(struct owner *owner, const struct owner_record *record, const void *content,
                  struct text key, struct text *ret_value)
{
    struct error error;
    assert(owner->state == (owner->in_flight.sent == 0 ? OWNER_RUNNING : OWNER_APPENDING));
    assert(owner->in_flight.sent == 0 || (record->many && owner->in_flight.record == record));
    assert(owner->in_flight.acknowledged == 0);
    assert(follower_checkpoint(owner->follower)->next_event_offset ==
           owner->in_flight.expected_offset + owner->in_flight.sent);
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    if (cluster_append(owner->cluster, BROKER_PRODUCER_LOG, owner->cluster->topics.events,
                       owner->partition, key, record->kind, content, on_appended, owner,
                       owner->claim_number, &error) != ERROR_OK)
        return false;
    owner->outstanding++;
    owner->in_flight.record = record;
    owner->in_flight.sent_us = now_us;
    if (owner->in_flight.sent++ == 0)
        owner_set_state(owner, OWNER_APPENDING);
    *ret_value = cluster_encoded(owner->cluster);
    return true;
}

void owner_append_describe(const struct owner *owner, char *ret_text, size_t size)
{
    const struct owner_in_flight *flight = &owner->in_flight;
    char count[16] = "";
    assert(owner->state == OWNER_APPENDING && flight->acknowledged < flight->sent);
    if (flight->record->many)
        snprintf(count, sizeof(count), "%u ", flight->sent - flight->acknowledged);
    snprintf(ret_text, size, "the leader of %s[%d] to acknowledge %s%s",
             owner->cluster->topics.events, owner->partition, count, flight->record->name);
}

bool owner_has_appended(const struct owner *owner)
{
    return owner->in_flight.sent == 0 && follower_checkpoint(owner->follower)->next_event_offset ==
                                             owner->in_flight.expected_offset;
}

void owner_append_begin(struct owner *owner, int64_t offset)
{
    assert(owner->in_flight.record == NULL && owner->in_flight.sent == 0);
    assert(offset > 0);
    owner->in_flight.expected_offset = offset;
}

void owner_append_end(struct owner *owner)
{
    owner->in_flight.record = NULL;
    owner->in_flight.sent = owner->in_flight.acknowledged = 0;
}
