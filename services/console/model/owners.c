/* SPDX-License-Identifier: Apache-2.0 */
/* The end offsets of the commands topic are fetched every PROBE_MS, and on request, at most once a
 * second; requests that come meanwhile wait for the same answer. That the brokers answer also shows
 * that the read model is not old. */
#include "services/console/model/owners.h"

#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utlist.h>

enum {
    FRESH_MS = 1000,
    WAIT_MS = 3000,
    PROBE_MS = 2000,
    AWAY_MS = 2 * PROBE_MS, /* no answer for longer than this: the brokers are away */
    UNKNOWN = -1,
    CLAIMS_SHOWN = 20,
    HANDOVERS_MS = 3600 * 1000,
    UNDECIDED_MS = 5000 /* between two probes, commands wait in a working partition as well */
};

struct owners_waiter {
    struct http_pending pending;
    bool all; /* GET /api/partitions */
};

/* commands[p] */
struct commands_end {
    struct owners *owners;
    int64_t low;
    int64_t high; /* UNKNOWN: no answer of the broker yet */
    bool outstanding;
    int64_t answered_ms;
    struct lag_window window;
};

struct owners {
    struct cluster *cluster; /* not to be used by owners_free() */
    struct loop *loop;
    struct console_partition *const *partitions;
    const struct alerts *alerts;
    int32_t count;
    struct commands_end *ends;
    int32_t outstanding;
    int64_t requested_ms;
    struct http_pendings waiters;
    struct loop_timer probe;
};

/* ---- the answer ---- */

static void put_claim(json_t *object, const struct console_claim *claim, int64_t decisions)
{
    if (!claim->known) {
        json_codec_put(object, "claim", json_null());
        return;
    }
    json_t *made = json_object();
    json_codec_put(made, "claim_id", json_codec_uuid(&claim->claim_id));
    json_codec_put(made, "instance", json_codec_text(text_of(claim->instance)));
    json_codec_put(made, "claimed_at", json_codec_time_or_null(claim->claimed_at));
    json_codec_put(made, "offset", json_integer(claim->offset));
    json_codec_put(made, "decisions", json_integer(decisions));
    json_codec_put(object, "claim", made);
}

static void put_reset(json_t *object, const struct console_reset *reset)
{
    if (!reset->known) {
        json_codec_put(object, "reset", json_null());
        return;
    }
    json_t *made = json_object();
    json_codec_put(made, "by", json_codec_text(text_of(reset->by)));
    json_codec_put(made, "reason", json_codec_text(text_of(reset->reason)));
    json_codec_put(made, "reset_at", json_codec_time_or_null(reset->reset_at));
    json_codec_put(made, "offset", json_integer(reset->offset));
    json_codec_put(object, "reset", made);
}

/* Commands that wait for a decision, or UNKNOWN. */
static int64_t lag_of(const struct owners *owners, int32_t number)
{
    const struct commands_end *end = &owners->ends[number];
    int64_t next =
        view_checkpoint(console_partition_view(owners->partitions[number]))->next_command_offset;
    if (end->high == UNKNOWN)
        return UNKNOWN;
    int64_t from = next > end->low ? next : end->low;
    return end->high > from ? end->high - from : 0;
}

static json_t *render_lag(int64_t lag)
{
    return lag == UNKNOWN ? json_null() : json_integer(lag);
}

static int64_t age_of(const struct owners *owners, int32_t number)
{
    int64_t age = loop_now_ms(owners->loop) - owners->ends[number].answered_ms;
    return age > AWAY_MS ? age : 0;
}

static enum verdict assess(const struct owners *owners, int32_t number,
                           char ret_reason[VERDICT_REASON_SIZE])
{
    const struct error *stop = NULL;
    struct console_partition *partition = owners->partitions[number];
    console_partition_is_stopped(partition, &stop);
    struct verdict_input input = {.window = &owners->ends[number].window,
                                  .now_ms = loop_now_ms(owners->loop),
                                  .stopped = stop != NULL ? stop->message : NULL,
                                  .claimed = console_partition_claim(partition)->known,
                                  .away_ms = age_of(owners, number)};
    return verdict_of(&input, ret_reason);
}

static void put_verdict(json_t *object, const struct owners *owners, int32_t number)
{
    char reason[VERDICT_REASON_SIZE];
    enum verdict verdict = assess(owners, number, reason);
    json_codec_put(object, "verdict", json_string(verdict_name(verdict)));
    json_codec_put(object, "verdict_reason", json_codec_text_or_null(text_of(reason)));
}

static json_t *render_owner(const struct owners *owners, int32_t number)
{
    struct console_partition *partition = owners->partitions[number];
    const struct checkpoint *checkpoint = view_checkpoint(console_partition_view(partition));
    const struct console_claim *claim = console_partition_claim(partition);
    const struct error *stop = NULL;
    json_t *object = json_object();
    json_codec_put(object, "partition", json_integer(number));
    put_claim(object, claim, checkpoint->next_sequence);
    put_reset(object, console_partition_reset(partition));
    json_codec_put(object, "next_command", json_integer(checkpoint->next_command_offset));
    json_codec_put(object, "lag", render_lag(lag_of(owners, number)));
    json_codec_put(object, "last_decided_at",
                   json_codec_time_or_null(checkpoint->newest_decided_at));
    json_codec_put(object, "log_start", json_integer(checkpoint->start));
    json_codec_put(object, "next_event", json_integer(checkpoint->next_event_offset));
    json_codec_put(object, "fold_lag", json_integer(console_partition_lag(partition)));
    json_codec_put(object, "skipped", json_integer(checkpoint->skipped));
    json_codec_put(object, "attempts", json_integer(checkpoint->guards));
    if (console_partition_is_stopped(partition, &stop)) {
        json_codec_put(object, "stopped", json_string(error_name_of(stop)));
        json_codec_put(object, "stopped_reason", json_codec_text(text_of(stop->message)));
    } else {
        json_codec_put(object, "stopped", json_null());
        json_codec_put(object, "stopped_reason", json_null());
    }
    json_codec_put(
        object, "alert",
        alerts_render_latest(owners->alerts, number, claim->known ? claim->claimed_at : 0));
    put_verdict(object, owners, number);
    return object;
}

/* ---- what GET /api/partitions adds ---- */

static void put_claims(json_t *object, const struct console_partition *partition, int64_t now)
{
    json_t *list = json_array();
    json_int_t handovers = 0;
    const struct console_claim *claim;
    for (uint32_t n = 0; (claim = console_partition_claim_at(partition, n)) != NULL; n++) {
        const struct console_claim *before = console_partition_claim_at(partition, n + 1);
        handovers += before != NULL && strcmp(before->instance, claim->instance) != 0 &&
                     claim->claimed_at > now - HANDOVERS_MS;
        if (n >= CLAIMS_SHOWN)
            continue;
        json_t *made = json_object();
        json_codec_put(made, "instance", json_codec_text(text_of(claim->instance)));
        json_codec_put(made, "claimed_at", json_codec_time_or_null(claim->claimed_at));
        json_codec_put(made, "offset", json_integer(claim->offset));
        json_array_append_new(list, made);
    }
    json_codec_put(object, "claims", list);
    json_codec_put(object, "handovers", json_integer(handovers));
}

/* The files of the partition's store; null: they cannot be read. */
static json_t *render_store_bytes(const struct owners *owners, int32_t number)
{
    char path[PATH_MAX];
    json_int_t bytes = 0;
    snprintf(path, sizeof(path), "%s/partition-%d", owners->cluster->service->data_dir, number);
    DIR *directory = opendir(path);
    if (directory == NULL)
        return json_null();
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (json_int_t)status.st_size;
    }
    closedir(directory);
    return json_integer(bytes);
}

static json_t *render_partition(const struct owners *owners, int32_t number)
{
    json_t *object = render_owner(owners, number);
    json_t *replay = json_object();
    struct console_partition *partition = owners->partitions[number];
    int64_t folded = view_checkpoint(console_partition_view(partition))->next_event_offset;
    put_claims(object, partition, clock_wall_ms(owners->cluster->service->clock));
    json_codec_put(replay, "folded", json_integer(folded));
    json_codec_put(replay, "end", json_integer(folded + console_partition_lag(partition)));
    json_codec_put(object, "replay", replay);
    json_codec_put(object, "store_bytes", render_store_bytes(owners, number));
    return object;
}

static void answer(struct http_pending *pending)
{
    const struct owners_waiter *waiter = (struct owners_waiter *)pending; /* its first member */
    const struct owners *owners = pending->set->ctx;
    json_t *body = json_object();
    json_t *list = json_array();
    for (int32_t i = 0; i < owners->count; i++)
        json_array_append_new(list,
                              waiter->all ? render_partition(owners, i) : render_owner(owners, i));
    json_codec_put(body, waiter->all ? "partitions" : "owners", list);
    owners_respond(owners, http_pending_take(pending), body);
}

static void answer_all(struct owners *owners)
{
    struct http_pending *pending, *next;
    DL_FOREACH_SAFE(owners->waiters.list, pending, next) {
        answer(pending);
        http_pending_settle(pending);
    }
}

static const struct http_pending_kind waiter_kind = {.draining = HTTP_SHUTTING_DOWN,
                                                     .late = answer};

/* ---- the ends of the commands ---- */

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct commands_end *end = ctx;
    struct owners *owners = end->owners;
    bool known = error == NULL || !error_is(error);
    end->outstanding = false;
    assert(owners->outstanding > 0);
    end->low = known ? low : 0;
    end->high = known ? high : UNKNOWN;
    if (known) {
        int32_t number = (int32_t)(end - owners->ends);
        int64_t now = loop_now_ms(owners->loop);
        end->answered_ms = now;
        if (!owners->waiters.closed)
            lag_window_add(&end->window, now, lag_of(owners, number),
                           view_checkpoint(console_partition_view(owners->partitions[number]))
                               ->next_command_offset);
    }
    if (--owners->outstanding == 0)
        answer_all(owners);
}

static void fetch_ends(struct owners *owners)
{
    owners->requested_ms = loop_now_ms(owners->loop);
    for (int32_t i = 0; i < owners->count; i++) {
        struct commands_end *end = &owners->ends[i];
        if (end->outstanding)
            continue;
        end->outstanding = true;
        owners->outstanding++;
        broker_offsets(owners->cluster->broker, owners->cluster->topics.commands, i, on_offsets,
                       end);
    }
}

static void on_probe(void *ctx)
{
    struct owners *owners = ctx;
    fetch_ends(owners);
    loop_timer_after(owners->loop, &owners->probe, PROBE_MS);
}

int64_t owners_data_age_ms(const struct owners *owners)
{
    int64_t age = 0;
    for (int32_t i = 0; i < owners->count; i++)
        age = age_of(owners, i) > age ? age_of(owners, i) : age;
    return age;
}

void owners_respond(const struct owners *owners, struct http_exchange *exchange, json_t *body)
{
    json_codec_put(body, "data_age_ms", json_integer(owners_data_age_ms(owners)));
    http_respond_json(exchange, 200, body);
}

uint32_t owners_stalled(const struct owners *owners, char ret_reason[VERDICT_REASON_SIZE],
                        int64_t *ret_waited_ms)
{
    char reason[VERDICT_REASON_SIZE];
    uint32_t count = 0;
    int64_t longest_ms = 0;
    for (int32_t i = 0; i < owners->count; i++) {
        const struct lag_window *window = &owners->ends[i].window;
        int64_t waited_ms = lag_window_waited_ms(window, loop_now_ms(owners->loop));
        bool longer = waited_ms > longest_ms;
        longest_ms = longer ? waited_ms : longest_ms;
        if (!lag_window_is_stalled(window, loop_now_ms(owners->loop), reason))
            continue;
        if (count++ == 0 || longer)
            snprintf(ret_reason, VERDICT_REASON_SIZE, "partition %d: %.500s", (int)i, reason);
    }
    if (ret_waited_ms != NULL)
        *ret_waited_ms = longest_ms;
    return count;
}

int64_t owners_lag(const struct owners *owners)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < owners->count; i++)
        sum += lag_of(owners, i) != UNKNOWN ? lag_of(owners, i) : 0;
    return sum;
}

int64_t owners_undecided(const struct owners *owners, int32_t number)
{
    char reason[VERDICT_REASON_SIZE];
    const struct lag_window *window = &owners->ends[number].window;
    int64_t lag = lag_of(owners, number);
    bool waits = lag_window_waited_ms(window, loop_now_ms(owners->loop)) >= UNDECIDED_MS ||
                 assess(owners, number, reason) != VERDICT_OK;
    /* The owner may have decided more than this console has read. */
    if (lag == UNKNOWN || !waits ||
        !console_partition_is_current(owners->partitions[number], reason, sizeof(reason)))
        return 0;
    return lag;
}

void owners_put_waiting(const struct owners *owners, json_t *body)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < owners->count; i++) {
        int64_t commands = owners_undecided(owners, i);
        if (commands == 0)
            continue;
        json_t *object = json_object();
        json_codec_put(object, "partition", json_integer(i));
        json_codec_put(object, "commands", json_integer(commands));
        put_verdict(object, owners, i);
        json_array_append_new(list, object);
    }
    if (json_array_size(list) > 0)
        json_codec_put(body, "waiting", json_incref(list));
    json_decref(list);
}

void owners_serve(struct owners *owners, bool all, struct http_exchange *exchange)
{
    if (!http_pendings_admit(&owners->waiters, exchange))
        return;
    struct owners_waiter *waiter = calloc(1, sizeof(*waiter));
    int64_t now = loop_now_ms(owners->loop);
    assert(waiter != NULL);
    waiter->all = all;
    http_pending_begin(&owners->waiters, &waiter->pending, exchange, WAIT_MS);
    bool fresh = owners->requested_ms != 0 && now - owners->requested_ms < FRESH_MS;
    if (!fresh && owners->outstanding == 0)
        fetch_ends(owners);
    if (owners->outstanding == 0)
        answer_all(owners);
}

struct owners *owners_new(struct cluster *cluster, struct console_partition *const partitions[],
                          const struct alerts *alerts)
{
    struct owners *owners = calloc(1, sizeof(*owners));
    assert(owners != NULL);
    owners->cluster = cluster;
    owners->loop = cluster->service->loop;
    owners->partitions = partitions;
    owners->alerts = alerts;
    owners->count = cluster->partition_count;
    owners->ends = calloc((size_t)owners->count, sizeof(owners->ends[0]));
    assert(owners->ends != NULL);
    for (int32_t i = 0; i < owners->count; i++)
        owners->ends[i] = (struct commands_end){
            .owners = owners, .high = UNKNOWN, .answered_ms = loop_now_ms(owners->loop)};
    http_pendings_init(&owners->waiters, &waiter_kind, owners->loop, NULL, owners);
    loop_timer_init(&owners->probe, on_probe, owners);
    loop_timer_after(owners->loop, &owners->probe, PROBE_MS);
    return owners;
}

void owners_drain(struct owners *owners)
{
    loop_timer_cancel(owners->loop, &owners->probe);
    http_pendings_drain(&owners->waiters);
}

void owners_free(struct owners *owners)
{
    if (owners == NULL)
        return;
    assert(owners->waiters.list == NULL);
    free(owners->ends);
    free(owners);
}
