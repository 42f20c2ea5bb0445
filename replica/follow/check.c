/* SPDX-License-Identifier: Apache-2.0 */
/* Is this the log that the store was made from? Before folding, the checkpoint is compared with the
 * log: the cluster, the first claim, the record before the checkpoint; and again where a running
 * reader meets a gap or a record that raises a doubt. Where that is a Claim, the record before the
 * checkpoint is enough: the orders wait meanwhile
 * (docs/design/decisions/0003-disposable-stores.md). */
#include "platform/logger.h"
#include "replica/follow/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

enum { RESET_WITHIN = 10000 /* records from the beginning of the log */ };

static void cluster_id_unknown(struct follower *follower)
{
    error_set(&follower->retry, CODE_CLUSTER_UNKNOWN, "no broker has named the cluster's id yet");
    follower_check_later(follower, FOLLOWER_RETRY_MS);
}

static void checked(struct follower *follower)
{
    struct checkpoint const *checkpoint = view_checkpoint(follower->view);
    if (follower->phase != PHASE_LAST)
        follower_close_reader(follower);
    if (checkpoint->cluster_id[0] == '\0') {
        const char *cluster_id = broker_cluster_id(follower->cluster->broker, 0);
        if (cluster_id == NULL) {
            cluster_id_unknown(follower);
            return;
        }
        view_set_cluster_id(follower->view, cluster_id);
    }
    follower->phase = PHASE_CHECKED;
    follower->ops->checked(follower->ctx);
    if (follower->phase == PHASE_CHECKED) /* follower_run() comes later, or had nothing to read */
        follower_close_reader(follower);
}

static void different_log(struct follower *follower, const char *what)
{
    struct error error;
    if (follower->reset_seen) {
        if (follower_drop_store(follower, CODE_PARTITION_RESET, "an operator reset the partition"))
            follower_check_later(follower, 0);
        return;
    }
    error_set(
        &error, CODE_LOG_DIFFERS,
        "%s[%d] is not the log that this store was made from (%s): the directory is kept. "
        "Bring the old topic or cluster back; or accept the new log: delete that directory, or "
        "begin the new log with `reeve partition reset --partition %d`",
        follower_topic(follower), follower->partition, what, follower->partition);
    follower_stop(follower, &error);
}

static void tail_lost(struct follower *follower)
{
    if (follower_drop_store(
            follower, CODE_LOG_TAIL_LOST,
            "the end of the log that this store had folded is gone (unclean election?): "
            "the store follows the log"))
        follower_check_later(follower, 0);
}

static bool is_empty(const struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    return checkpoint->next_event_offset == checkpoint->start;
}

/* Of the record whose hash is remembered. */
static int64_t last_offset(const struct follower *follower)
{
    return view_checkpoint(follower->view)->next_event_offset - 1;
}

static void read_last(struct follower *follower)
{
    follower_close_reader(follower);
    follower->phase = PHASE_LAST;
    follower_read_from(follower, last_offset(follower));
}

/* The first Claim tells the log. A former owner may have written before it, without a claim of this
 * log; such records never count. If it is another log, an operator's reset near its beginning, made
 * after all that the store has seen, accepts it. */
static void check_first_claim(struct follower *follower, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct record decoded;
    struct error error;
    heap_arena_reset(&follower->cluster->scratch);
    enum error_class class = codec_decode(follower->cluster->codec, record->value, true,
                                          &follower->cluster->scratch.arena, &decoded, &error);
    bool counts = class == ERROR_OK && !admission_skips(checkpoint, record->offset);
    bool is_claim = counts && decoded.kind == RECORD_CLAIM;
    bool same = checkpoint->has_first_claim
                    ? is_claim && !follower->claim_seen &&
                          uuid_equal(&decoded.claim.claim_id, &checkpoint->first_claim_id)
                    : !follower->claim_seen && record->offset + 1 == checkpoint->next_event_offset;
    if (same && follower->high < checkpoint->next_event_offset) {
        tail_lost(follower);
        return;
    }
    if (same) {
        follower->reset_seen = false; /* an operator's, before the first Claim of this very log */
        read_last(follower);
        return;
    }
    int64_t reset_at = 0; /* 0: it is not a reset */
    if (is_claim && decoded.claim.has_reset)
        reset_at = decoded.claim.claimed_at;
    else if (counts && decoded.kind == RECORD_RESET &&
             decoded.reset.expected_offset == record->offset)
        reset_at = decoded.reset.reset_at;
    if (reset_at > 0 && (!follower->claim_seen || reset_at > checkpoint->newest_decided_at))
        follower->reset_seen = true;
    follower->claim_seen |= is_claim;
    bool accepted = follower->reset_seen && follower->claim_seen;
    if (accepted || record->offset + 1 >= follower->high || record->offset >= RESET_WITHIN)
        different_log(follower, "its first claim is another one");
}

/* The first record does not show whether this is the log of this store, or not all orders
 * are in it. */
static void beginning_lost(struct follower *follower)
{
    struct error error;
    char folded[80] = "nothing of it is folded here";
    if (!is_empty(follower))
        snprintf(folded, sizeof(folded), "the records before %" PRId64 " are folded here",
                 view_checkpoint(follower->view)->next_event_offset);
    error_set(&error, CODE_LOG_TRUNCATED,
              "%s[%d] begins at offset %" PRId64
              ", and %s. What was before that is deleted, and no "
              "record that counts says that every order is in the rest: something other than reeve "
              "deleted it (the topic needs retention -1), or a broker that crashed after a trim "
              "has lost that record. A scheduler whose store reaches into what is left repairs "
              "this when it owns the partition; without one, restore the topic. The directory is "
              "kept meanwhile",
              follower_topic(follower), follower->partition, follower->low, folded);
    follower_stop(follower, &error);
    if (follower->phase == PHASE_STOPPED)
        follower_await_beginning(follower);
}

/* Its owner has trimmed the log beyond what is folded here. */
static void left_behind(struct follower *follower)
{
    follower->searched = false; /* the log begins elsewhere now */
    if (follower->ops->left_behind != NULL)
        follower->ops->left_behind(follower->ctx);
    if (follower_drop_store(follower, follower->ops->comes_and_goes ? CODE_NONE : CODE_LOG_TRIMMED,
                            "the log was trimmed to beyond what this store has folded: it is "
                            "folded again from where the log begins now"))
        follower_check_later(follower, 0);
}

/* Nothing is folded: begins where the log begins, or where it is whole. */
static void begin(struct follower *follower, int64_t start)
{
    view_begin_at(follower->view, start);
    if (start > 0)
        log_info("the log was trimmed: folding from where it begins now",
                 LOG_STR("topic", follower_topic(follower)),
                 LOG_I64("partition", follower->partition), LOG_I64("start", start),
                 LOG_I64("first", follower->low));
    checked(follower);
}

/* A log that was trimmed begins with a Continuation, which repeats the first claim. A broker that
 * has forgotten a part of a trim has records before it. */
static void check_continuation(struct follower *follower, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    struct record decoded;
    heap_arena_reset(&follower->cluster->scratch);
    bool lawful = record->offset == follower->low && !admission_skips(checkpoint, record->offset) &&
                  codec_decode(follower->cluster->codec, record->value, true,
                               &follower->cluster->scratch.arena, &decoded, NULL) == ERROR_OK &&
                  decoded.kind == RECORD_CONTINUATION;
    bool knows = lawful && checkpoint->has_first_claim;
    follower->claim_seen =
        knows && uuid_equal(&decoded.continuation.first_claim_id, &checkpoint->first_claim_id);
    bool behind = follower->low > last_offset(follower);
    follower->lawful = lawful;
    if (is_empty(follower) && lawful && !follower->searched)
        begin(follower, follower->low);
    else if (is_empty(follower))
        follower_search(follower);
    else if (knows && !follower->claim_seen)
        different_log(follower, "it continues one with another first claim");
    else if (behind && lawful)
        left_behind(follower);
    else if (behind || (follower->high < checkpoint->next_event_offset && !knows))
        follower_search(follower);
    else if (follower->high < checkpoint->next_event_offset)
        tail_lost(follower);
    else
        read_last(follower);
}

/* Nothing can be said about a log whose beginning only a newer version can read. (Where it was
 * trimmed, a later record may still say where it is whole: follower_search_ended().) */
static bool stops_at_newer(struct follower *follower, const struct broker_record *record)
{
    struct record decoded;
    struct error why;
    struct error error;
    const struct codec *codec = follower->cluster->codec;
    heap_arena_reset(&follower->cluster->scratch);
    if (admission_skips(view_checkpoint(follower->view), record->offset) ||
        !codec_is_newer(codec, record->value) ||
        codec_decode(follower->cluster->codec, record->value, true,
                     &follower->cluster->scratch.arena, &decoded, &why) == ERROR_OK)
        return false;
    view_refusal(codec, record, &why, &error);
    error.class = ERROR_FATAL;
    follower_stop(follower, &error);
    return true;
}

void follower_search_ended(struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    const struct follower_search *search = &follower->search;
    bool whole = search->begins_at >= 0;
    bool knows = search->knows_claim && checkpoint->has_first_claim;
    follower->claim_seen =
        knows && uuid_equal(&search->first_claim_id, &checkpoint->first_claim_id);
    if (is_empty(follower) && (whole || follower->lawful)) /* it stops at what does not fit */
        begin(follower, whole ? search->begins_at : follower->low);
    else if (!whole && error_is(&search->newer))
        follower_stop(follower, &search->newer);
    else if (knows && !follower->claim_seen)
        different_log(follower, "it continues one with another first claim");
    else if (!is_empty(follower) && follower->low > last_offset(follower) && whole)
        left_behind(follower);
    else if (follower->claim_seen && whole)
        tail_lost(follower);
    else if (follower->differs && !follower->claim_seen) /* nothing tells whose log it is */
        different_log(follower, "another record is where its checkpoint is");
    else
        beginning_lost(follower);
}

static void check_record(void *ctx, const struct broker_record *record)
{
    struct follower *follower = ctx;
    if (follower->low > 0)
        check_continuation(follower, record);
    else if (!stops_at_newer(follower, record))
        check_first_claim(follower, record);
}

/* It does not count as a Claim. */
static void check_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)offset;
    if (next_offset >= follower->high)
        different_log(follower, "its beginning cannot be read");
}

static void check_end(void *ctx, int64_t next_offset)
{
    struct follower *follower = ctx;
    (void)next_offset;
    /* The end came before the record did: it was lost between two looks. */
    follower_check_later(follower, FOLLOWER_RETRY_MS);
}

void follower_read_failed(void *ctx, const struct error *error)
{
    struct follower *follower = ctx;
    follower->retry = *error;
    if (error->class == ERROR_FATAL)
        follower_check_later(follower, FOLLOWER_RETRY_MS);
}

static const struct broker_reader_ops check_ops = {check_record, check_end, follower_read_failed};

static void read_first(struct follower *follower)
{
    follower_close_reader(follower);
    follower->phase = PHASE_FIRST;
    follower->reader = broker_read(follower->cluster->broker, follower_topic(follower),
                                   follower->partition, follower->low, &check_ops, follower);
    broker_reader_skip_unreadable(follower->reader, check_unreadable);
}

/* ---- the record before the checkpoint ---- */

/* Claims have random ids. Any other record, like a third-party client's, may be in two logs. */
static bool names_a_claim(struct follower *follower, const struct broker_record *record)
{
    struct record decoded;
    heap_arena_reset(&follower->cluster->scratch);
    return codec_decode(follower->cluster->codec, record->value, true,
                        &follower->cluster->scratch.arena, &decoded, NULL) == ERROR_OK &&
           follower_claim_of(&decoded) != NULL;
}

void follower_last_record(struct follower *follower, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    assert(follower->phase == PHASE_LAST);
    bool same = record->offset == last_offset(follower) &&
                XXH3_64bits(record->value.data, record->value.size) == checkpoint->last_record_hash;
    if (same && (!follower->last_only || names_a_claim(follower, record)))
        checked(follower);
    else if (follower->last_only)
        follower_check_later(follower, 0);
    else if (follower->low > 0 && !follower->claim_seen) {
        follower->differs = true;
        follower_search(follower);
    } else
        tail_lost(follower);
}

/* Folded records were readable once: another fold stops there. */
void follower_last_unreadable(struct follower *follower)
{
    assert(follower->phase == PHASE_LAST);
    if (follower->last_only ||
        follower_drop_store(follower, CODE_UNREADABLE_EVENT,
                            "the last record that this store had folded can no longer be "
                            "read: the log is folded again"))
        follower_check_later(follower, 0);
}

void follower_last_end(struct follower *follower)
{
    assert(follower->phase == PHASE_LAST);
    follower_check_later(follower, follower->last_only ? 0 : FOLLOWER_RETRY_MS);
}

void follower_check_last(struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    assert(follower->phase == PHASE_FOLDING);
    if (checkpoint->next_event_offset == checkpoint->start) { /* nothing of it is committed */
        follower_check_later(follower, 0);
        return;
    }
    follower->last_only = true;
    read_last(follower);
}

/* ---- the beginning ---- */

static void check_with_offsets(struct follower *follower)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    bool empty = is_empty(follower);
    if (empty && follower->low == 0) {
        begin(follower, 0);
        return;
    }
    const char *cluster_id = broker_cluster_id(follower->cluster->broker, 0);
    if (cluster_id == NULL)
        cluster_id_unknown(follower);
    else if (!empty && strcmp(cluster_id, checkpoint->cluster_id) != 0)
        different_log(follower, "another cluster");
    else if (follower->high == 0)
        different_log(follower, "it is empty");
    else if (follower->low > 0 && follower->low >= follower->high)
        beginning_lost(follower);
    else
        read_first(follower);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct follower *follower = ctx;
    follower->query_outstanding = false;
    if (follower->freed) {
        free(follower);
        return;
    }
    follower->end_unknown = error != NULL && error_is(error);
    if (follower->phase == PHASE_FOLDING && follower->end_unknown)
        follower->retry = *error;
    if ((follower->phase == PHASE_PAUSED || follower->phase == PHASE_FOLDING) &&
        high > follower->high)
        follower->high = high;
    if (follower->phase != PHASE_OFFSETS)
        return;
    if (error != NULL && error_is(error)) {
        follower->retry = *error;
        follower_check_later(follower, FOLLOWER_RETRY_MS);
        return;
    }
    follower->low = low;
    follower->high = follower->checked_end = high;
    check_with_offsets(follower);
}

void follower_ask_offsets(struct follower *follower)
{
    if (cluster_refresh_cancel(follower->cluster, follower) > 0)
        follower->query_outstanding = false; /* restarted: no record waits for schemas any more */
    if (follower->query_outstanding)
        return; /* the answer under way will do */
    follower->query_outstanding = true;
    broker_offsets(follower->cluster->broker, follower_topic(follower), follower->partition,
                   on_offsets, follower);
}

void follower_refresh_lag(struct follower *follower)
{
    if (follower->phase != PHASE_FOLDING)
        return;
    follower->end_unknown |= follower->query_outstanding;
    follower_ask_offsets(follower);
}

bool follower_end_is_known(const struct follower *follower)
{
    return !follower->end_unknown;
}

void follower_check(struct follower *follower)
{
    struct error error;
    if (view_store(follower->view) == NULL && view_drop(follower->view, &error) != ERROR_OK) {
        follower_stop(follower, &error);
        return;
    }
    follower->claim_seen = follower->reset_seen = follower->last_only = follower->differs = false;
    follower->phase = PHASE_OFFSETS;
    follower_ask_offsets(follower);
}

bool follower_checks_gap(struct follower *follower, int64_t offset)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower->view);
    if (admission_past_skips(checkpoint, checkpoint->next_event_offset) >= offset ||
        follower->gap_at == offset)
        return false;
    follower->gap_at =
        offset; /* the check found nothing wrong: the log never held what is missing */
    log_warning("the log has a gap: checking it", LOG_STR("topic", follower_topic(follower)),
                LOG_I64("partition", follower->partition),
                LOG_I64("from", checkpoint->next_event_offset), LOG_I64("to", offset));
    follower_commit(follower);
    if (follower->phase == PHASE_FOLDING)
        follower_restart(follower, false, 0);
    return true;
}
