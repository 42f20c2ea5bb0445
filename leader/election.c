/* SPDX-License-Identifier: Apache-2.0 */
/* See election.h. Below: names and options, what happened, what to do. The log's rules are in
 * election_log.c. */
#include "leader/election.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const reason_names[] = {
    [ELECTION_ENDED] = "ended",        [ELECTION_STOP] = "stopped",
    [ELECTION_HUNG] = "hung",          [ELECTION_OUTRANKED] = "outranked",
    [ELECTION_LAPSED] = "lapsed",      [ELECTION_SUPERSEDED] = "superseded",
    [ELECTION_REREAD] = "log-changed",
};
_Static_assert(sizeof(reason_names) / sizeof(reason_names[0]) == ELECTION_REASON_COUNT,
               "all reasons");

const char *election_reason_name(enum election_reason reason)
{
    assert(reason < ELECTION_REASON_COUNT);
    return reason_names[reason];
}

enum error_class election_options_check(const struct election_options *options,
                                        struct error *ret_error)
{
    if (options->lease_ms < ELECTION_LEASE_MS_MIN || options->lease_ms > ELECTION_LEASE_MS_MAX)
        return error_set(ret_error, CODE_CONFIG, "leader.lease.ms is %" PRId64 ", must be %d to %d",
                         options->lease_ms, ELECTION_LEASE_MS_MIN, ELECTION_LEASE_MS_MAX);
    if (options->renew_ms > options->lease_ms / 3 ||
        options->renew_ms < options->lease_ms / ELECTION_RENEWALS_MAX)
        return error_set(ret_error, CODE_CONFIG,
                         "leader.renew.ms is %" PRId64 ", must be %" PRId64 " to %" PRId64
                         ": a third of leader.lease.ms at most, so that one lost renewal costs "
                         "nothing, and a %dth at least",
                         options->renew_ms, options->lease_ms / ELECTION_RENEWALS_MAX,
                         options->lease_ms / 3, ELECTION_RENEWALS_MAX);
    if (options->progress_ms < options->renew_ms)
        return error_set(ret_error, CODE_CONFIG,
                         "leader.progress.ms is %" PRId64 ", must be at least leader.renew.ms, "
                         "%" PRId64,
                         options->progress_ms, options->renew_ms);
    if (options->margin_ms < 0 || options->margin_ms > options->lease_ms / 3)
        return error_set(ret_error, CODE_CONFIG,
                         "the margin is %" PRId64 ", must be 0 to %" PRId64 " (a third of the "
                         "lease)",
                         options->margin_ms, options->lease_ms / 3);
    return ERROR_OK;
}

void election_init(struct election *election, const struct election_options *options)
{
    assert(election_options_check(options, NULL) == ERROR_OK);
    *election = (struct election){.options = *options, .term = -1, .refused = -2};
    if (options->margin_ms == 0)
        election->options.margin_ms = options->lease_ms / 5;
    election_log_init(&election->log);
}

/* ---- the task ---- */

static bool has_task(const struct election *election)
{
    return election->state == ELECTION_LEADING || election->state == ELECTION_ENDING;
}

bool election_leads(const struct election *election, int64_t now)
{
    return election->state == ELECTION_LEADING && now < election->trusted_until;
}

static void release(struct election *election, int64_t term, enum election_reason reason)
{
    election->release_due = true;
    election->release_term = term;
    election->reason = reason;
}

/* `keep`: the term stays ours, and is renewed, until the task has ended. */
static void cancel(struct election *election, enum election_reason reason, bool keep)
{
    assert(election->state == ELECTION_LEADING);
    election->state = ELECTION_ENDING;
    election->reason = reason;
    election->given_up = !keep;
    if (election->begin_due) { /* it never heard of it */
        election->begin_due = false;
        election->state = election->log.live ? ELECTION_WAITING : ELECTION_READING;
        release(election, election->term, reason);
        election->term = -1;
        return;
    }
    election->cancel_due = true;
}

static void begin(struct election *election, int64_t term, int64_t sent, int64_t now)
{
    int64_t trusted = sent + election->options.lease_ms - election->options.margin_ms;
    bool idle = election->state == ELECTION_WAITING || election->state == ELECTION_CLAIMING;
    if (!idle || election->stopping || now >= trusted) {
        release(election, term, election->stopping ? ELECTION_STOP : ELECTION_LAPSED);
        if (election->state == ELECTION_CLAIMING)
            election->state = ELECTION_WAITING;
        return;
    }
    election->state = ELECTION_LEADING;
    election->term = term;
    election->trusted_until = trusted;
    election->renew_at = sent + election->options.renew_ms;
    election->progress_ms = now;
    election->progress_wall = 0;
    election->given_up = false;
    election->begin_due = true;
}

void election_progress(struct election *election, int64_t when, int64_t wall)
{
    if (!has_task(election) || when <= election->progress_ms)
        return;
    election->progress_ms = when;
    election->progress_wall = wall;
}

void election_task_ended(struct election *election, int64_t now)
{
    assert(has_task(election) && !election->begin_due);
    enum election_reason reason =
        election->state == ELECTION_ENDING ? election->reason : ELECTION_ENDED;
    release(election, election->term, reason);
    election->cancel_due = false;
    election->term = -1;
    /* A log that is being read again holds claims of ours that are over. */
    election->state = election->log.live ? ELECTION_WAITING : ELECTION_READING;
    /* Others first; and a task that ends at once does not fill the log. */
    election->claim_not_before = now + election->options.renew_ms;
}

void election_stop(struct election *election)
{
    election->stopping = true;
}

/* ---- what was read ---- */

static bool is_own(const struct election *election, const struct leadership *record)
{
    return uuid_equal(&record->candidate_id, &election->options.candidate_id);
}

/* The place of a rival, a free one, or that of the one who has been silent for longest. */
static struct election_rival *rival_place(struct election *election, const struct uuid *id)
{
    struct election_rival *oldest = &election->rivals[0];
    for (uint32_t i = 0; i < ELECTION_CANDIDATES; i++) {
        struct election_rival *rival = &election->rivals[i];
        if (rival->heard_ms != 0 && uuid_equal(&rival->id, id))
            return rival;
        if (rival->heard_ms < oldest->heard_ms)
            oldest = rival;
    }
    *oldest = (struct election_rival){.id = *id};
    return oldest;
}

static void copy_text(struct text text, char *ret_text, size_t size)
{
    size_t length = text.size < size - 1 ? text.size : size - 1;
    if (length > 0)
        memcpy(ret_text, text.data, length);
    ret_text[length] = '\0';
}

/* Another candidate is alive: any of its records shows it, and a leader's records do not turn it
 * into a candidate that waits. */
static void hear(struct election *election, const struct leadership *record, int64_t now)
{
    if (election->options.strategy != ELECTION_RANKED || election->state == ELECTION_READING)
        return;
    struct election_rival *rival = rival_place(election, &record->candidate_id);
    rival->rank = record->rank;
    rival->heard_ms = now;
    rival->lease_ms = record->kind == LEADERSHIP_RELEASE ? 0 : record->lease_ms;
    if (rival->lease_ms > ELECTION_LEASE_MS_MAX)
        rival->lease_ms = ELECTION_LEASE_MS_MAX;
    if (rival->rank != election->options.rank || rival->clash_reported)
        return;
    rival->clash_reported = true;
    election->clash_due = true;
    copy_text(record->instance, election->clash_instance, sizeof(election->clash_instance));
}

static bool better_one_lives(const struct election *election, int64_t now)
{
    if (election->options.strategy != ELECTION_RANKED)
        return false;
    for (uint32_t i = 0; i < ELECTION_CANDIDATES; i++) {
        const struct election_rival *rival = &election->rivals[i];
        if (rival->heard_ms != 0 && rival->rank < election->options.rank &&
            now < rival->heard_ms + rival->lease_ms)
            return true;
    }
    return false;
}

/* When we sent the record of that `said_at`; -1: too long ago to be remembered. */
static int64_t sent_at(const struct election *election, int64_t said_at)
{
    for (uint32_t i = 0; i < 2 * ELECTION_RENEWALS_MAX; i++)
        if (election->sent[i].mono_ms != 0 && election->sent[i].said_at == said_at)
            return election->sent[i].mono_ms;
    return -1;
}

static void own_claim(struct election *election, const struct leadership *record, int64_t offset,
                      int64_t append_ms, enum election_outcome outcome, int64_t now)
{
    if (outcome == ELECTION_COUNTS) {
        int64_t sent = sent_at(election, record->said_at);
        begin(election, offset, sent < 0 ? now - election->options.lease_ms : sent, now);
        return;
    }
    if (election->state != ELECTION_CLAIMING)
        return;
    election->state = ELECTION_WAITING;
    election->claim_not_before = now;
    if (outcome == ELECTION_STALE && (record->term < 0 || record->term == election->log.last))
        election->refused = record->term;
    if (outcome == ELECTION_EARLY) /* the broker's clock is slower than ours: wait for it */
        election->claim_not_before += election->log.last_ms + election->log.lease_ms - append_ms;
}

static void own_renewal(struct election *election, const struct leadership *record)
{
    int64_t sent = sent_at(election, record->said_at);
    if (!has_task(election) || record->term != election->term || sent < 0)
        return;
    int64_t trusted = sent + election->options.lease_ms - election->options.margin_ms;
    if (trusted > election->trusted_until)
        election->trusted_until = trusted;
}

/* A renewal or a release of a later term displaces the one that the log had `before`: unlike a
 * claim, it names nothing that it follows. */
static void heed_displaced(struct election *election, const struct election_log *before)
{
    if (before->term < 0 || before->released || before->term == election->log.term)
        return;
    int64_t until = election->arrived_ms + before->lease_ms;
    if (until > election->displaced_until)
        election->displaced_until = until;
}

enum election_outcome election_record(struct election *election, const struct leadership *record,
                                      int64_t offset, int64_t append_ms, int64_t now)
{
    struct election_log before = election->log;
    enum election_outcome outcome = election_log_fold(&election->log, record, offset, append_ms);
    if (outcome == ELECTION_COUNTS) {
        if (record->kind != LEADERSHIP_CLAIM)
            heed_displaced(election, &before);
        election->arrived_ms = now;
        election->refused = -2;
    }
    if (!is_own(election, record))
        hear(election, record, now);
    else if (record->kind == LEADERSHIP_CLAIM)
        own_claim(election, record, offset, append_ms, outcome, now);
    else if (record->kind == LEADERSHIP_RENEW && outcome == ELECTION_COUNTS)
        own_renewal(election, record);
    if (outcome == ELECTION_COUNTS && election->state == ELECTION_LEADING &&
        election->log.term != election->term)
        cancel(election, ELECTION_SUPERSEDED, false);
    return outcome;
}

void election_caught_up(struct election *election, int64_t now)
{
    election->log.live = true;
    if (election->state != ELECTION_READING)
        return;
    bool blind = election->log.first_offset > 0 && election->log.term < 0;
    bool listens = blind || election->options.strategy == ELECTION_RANKED;
    election->state = ELECTION_WAITING;
    election->arrived_ms = now; /* no clock of ours knows how old the past is */
    election->announce_at = now;
    election->listen_until = listens ? now + election->options.lease_ms : now;
}

void election_reread(struct election *election)
{
    election_log_init(&election->log);
    if (election->state == ELECTION_LEADING)
        cancel(election, ELECTION_REREAD, false);
    election->release_due = false;
    if (election->state != ELECTION_ENDING && election->state != ELECTION_STOPPED)
        election->state = ELECTION_READING;
}

void election_answered(struct election *election, bool failed, int64_t now)
{
    assert(election->unanswered > 0);
    election->unanswered--;
    if (!failed)
        return;
    if (election->state == ELECTION_CLAIMING) /* should it be in the log after all, it is read */
        election->state = ELECTION_WAITING;
    election->claim_not_before = now + election->options.renew_ms;
}

/* ---- what to do ---- */

static void look_at_clock(struct election *election, int64_t now)
{
    if (election->state == ELECTION_LEADING && now >= election->trusted_until)
        cancel(election, ELECTION_LAPSED, false);
    if (has_task(election) && !election->given_up &&
        now >= election->progress_ms + election->options.progress_ms) {
        if (election->state == ELECTION_LEADING)
            cancel(election, ELECTION_HUNG, false);
        election->given_up = true;
        if (election->state == ELECTION_ENDING)
            release(election, election->term, ELECTION_HUNG);
    }
    if (election->state == ELECTION_LEADING && election->stopping)
        cancel(election, ELECTION_STOP, true);
    if (election->state == ELECTION_LEADING && better_one_lives(election, now))
        cancel(election, ELECTION_OUTRANKED, true);
    bool idle = election->state == ELECTION_READING || election->state == ELECTION_WAITING;
    if (election->stopping && idle)
        election->state = ELECTION_STOPPED;
}

static bool may_claim(const struct election *election, int64_t now)
{
    const struct election_log *log = &election->log;
    bool free = log->term < 0 || log->released || now >= election->arrived_ms + log->lease_ms;
    return election->state == ELECTION_WAITING && !election->stopping && free &&
           election->unanswered == 0 && !election->release_due &&
           now >= election->claim_not_before && now >= election->listen_until &&
           now >= election->displaced_until && !better_one_lives(election, now);
}

static enum election_act append(struct election *election, enum leadership_kind kind, int64_t term,
                                int64_t now, int64_t wall, struct election_step *ret_step)
{
    const struct election_options *options = &election->options;
    election->said_at = wall > election->said_at ? wall : election->said_at + 1;
    election->unanswered++;
    ret_step->record = (struct leadership){.role = options->role,
                                           .kind = kind,
                                           .instance = options->instance,
                                           .candidate_id = options->candidate_id,
                                           .rank = options->rank,
                                           .term = term,
                                           .lease_ms = options->lease_ms,
                                           .progress_at = election->progress_wall,
                                           .said_at = election->said_at};
    if (kind == LEADERSHIP_CLAIM || kind == LEADERSHIP_RENEW)
        election->sent[election->sent_next++ % (2 * ELECTION_RENEWALS_MAX)] =
            (struct election_sent){election->said_at, now};
    return ret_step->act = ELECTION_APPEND;
}

/* What our claim names. Whether the newest record is forgotten already is for the broker's clock to
 * say; ours makes a guess, and a refusal corrects it. */
static int64_t followed(const struct election *election, int64_t wall)
{
    const struct election_log *log = &election->log;
    bool forgotten = wall > log->last_ms + ELECTION_FORGET_MS;
    int64_t guess = forgotten ? -1 : log->last;
    int64_t other = forgotten ? log->last : -1;
    return guess == election->refused ? other : guess;
}

/* A release that would not count is not worth a record. */
static bool release_counts(struct election *election)
{
    election->release_due = false;
    return election->log.term == election->release_term && !election->log.released;
}

static enum election_act say(struct election *election, int64_t now, int64_t wall,
                             struct election_step *ret_step)
{
    const struct election_options *options = &election->options;
    if (election->state == ELECTION_READING)
        return ELECTION_NOTHING;
    if (election->release_due && release_counts(election)) {
        append(election, LEADERSHIP_RELEASE, election->release_term, now, wall, ret_step);
        ret_step->record.reason = text_of(election_reason_name(election->reason));
        return ELECTION_APPEND;
    }
    if (has_task(election) && !election->given_up && now >= election->renew_at &&
        now < election->trusted_until && election->unanswered == 0) {
        election->renew_at = now + options->renew_ms;
        return append(election, LEADERSHIP_RENEW, election->term, now, wall, ret_step);
    }
    if (may_claim(election, now)) {
        election->state = ELECTION_CLAIMING;
        election->progress_wall = 0;
        return append(election, LEADERSHIP_CLAIM, followed(election, wall), now, wall, ret_step);
    }
    if (options->strategy == ELECTION_RANKED && election->state == ELECTION_WAITING &&
        now >= election->announce_at && election->unanswered == 0) {
        election->announce_at = now + options->renew_ms;
        return append(election, LEADERSHIP_CANDIDATE, -1, now, wall, ret_step);
    }
    return ELECTION_NOTHING;
}

enum election_act election_next(struct election *election, int64_t now, int64_t wall,
                                struct election_step *ret_step)
{
    *ret_step = (struct election_step){.act = ELECTION_NOTHING};
    look_at_clock(election, now);
    if (election->clash_due) {
        election->clash_due = false;
        ret_step->instance = election->clash_instance;
        return ret_step->act = ELECTION_CLASH;
    }
    if (election->begin_due) {
        election->begin_due = false;
        ret_step->term = election->term;
        return ret_step->act = ELECTION_BEGIN;
    }
    if (election->cancel_due) {
        election->cancel_due = false;
        ret_step->term = election->term;
        ret_step->reason = election->reason;
        return ret_step->act = ELECTION_CANCEL;
    }
    return say(election, now, wall, ret_step);
}

static void sooner(int64_t *due, int64_t at, int64_t now)
{
    if (at > now && at < *due)
        *due = at;
}

int64_t election_due(const struct election *election, int64_t now)
{
    /* Whatever is forgotten below is found a little later. */
    int64_t due = now + election->options.renew_ms;
    if (has_task(election)) {
        sooner(&due, election->trusted_until, now);
        sooner(&due, election->renew_at, now);
        sooner(&due, election->progress_ms + election->options.progress_ms, now);
    }
    if (election->state == ELECTION_WAITING) {
        sooner(&due, election->arrived_ms + election->log.lease_ms, now);
        sooner(&due, election->claim_not_before, now);
        sooner(&due, election->listen_until, now);
        sooner(&due, election->displaced_until, now);
        sooner(&due, election->announce_at, now);
    }
    return due;
}

bool election_is_over(const struct election *election)
{
    return election->state == ELECTION_STOPPED && election->unanswered == 0 &&
           !election->release_due;
}
