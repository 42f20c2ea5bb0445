/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a role count: the rules at the head of election.h. */
#include "leader/election.h"

#include <assert.h>
#include <string.h>

static const char *const outcome_names[] = {
    [ELECTION_COUNTS] = "counts",
    [ELECTION_ANNOUNCES] = "announces",
    [ELECTION_STALE] = "stale",
    [ELECTION_EARLY] = "early",
};
_Static_assert(sizeof(outcome_names) / sizeof(outcome_names[0]) == ELECTION_OUTCOME_COUNT,
               "every outcome has a name");

const char *election_outcome_name(enum election_outcome outcome)
{
    assert(outcome < ELECTION_OUTCOME_COUNT);
    return outcome_names[outcome];
}

void election_log_init(struct election_log *log)
{
    *log = (struct election_log){.first_offset = -1, .term = -1, .last = -1};
}

void election_log_begins(struct election_log *log, int64_t offset)
{
    if (log->first_offset < 0)
        log->first_offset = offset;
}

static void keep_text(struct text text, char ret_text[ELECTION_TEXT_SIZE])
{
    size_t length = text.size < ELECTION_TEXT_SIZE - 1 ? text.size : ELECTION_TEXT_SIZE - 1;
    if (length > 0)
        memcpy(ret_text, text.data, length);
    ret_text[length] = '\0';
}

/* A new term: by its claim, or by the first record of it that is left in the log. */
static void enter(struct election_log *log, const struct leadership *record, int64_t term,
                  int64_t append_ms)
{
    log->term = term;
    log->since_ms = append_ms;
    log->leader_id = record->candidate_id;
    log->rank = record->rank;
    log->released = false;
    log->reason[0] = '\0';
    keep_text(record->instance, log->instance);
}

static enum election_outcome check_claim(const struct election_log *log,
                                         const struct leadership *record, int64_t append_ms)
{
    if (log->first_offset > 0 && log->term < 0 && !log->live)
        return ELECTION_STALE; /* what it follows may have been here once */
    bool forgotten = log->last >= 0 && append_ms > log->last_ms + ELECTION_FORGET_MS;
    if (record->term != (forgotten ? -1 : log->last))
        return ELECTION_STALE;
    /* A broker's clock that went back behind the last record shows nothing about the lease. */
    bool within = append_ms >= log->last_ms && append_ms < log->last_ms + log->lease_ms;
    if (log->term >= 0 && !log->released && within)
        return ELECTION_EARLY;
    return ELECTION_COUNTS;
}

/* Retention deletes even a reigning leader's claim, or what it followed: this reader, or the
 * candidate when it claimed, may not have seen it. A candidate that renews has read its claim as
 * counting. */
static bool is_later_term(const struct election_log *log, const struct leadership *record,
                          int64_t offset)
{
    return record->term > log->term && record->term < offset;
}

static enum election_outcome check_term(const struct election_log *log,
                                        const struct leadership *record)
{
    bool same = record->term == log->term && !log->released &&
                uuid_equal(&record->candidate_id, &log->leader_id);
    return same ? ELECTION_COUNTS : ELECTION_STALE;
}

enum election_outcome election_log_fold(struct election_log *log, const struct leadership *record,
                                        int64_t offset, int64_t append_ms)
{
    enum election_outcome outcome = ELECTION_STALE;
    election_log_begins(log, offset);
    switch (record->kind) {
    case LEADERSHIP_CANDIDATE:
        return ELECTION_ANNOUNCES;
    case LEADERSHIP_CLAIM:
        outcome = check_claim(log, record, append_ms);
        if (outcome == ELECTION_COUNTS)
            enter(log, record, offset, append_ms);
        break;
    case LEADERSHIP_RENEW:
    case LEADERSHIP_RELEASE:
        if (is_later_term(log, record, offset))
            enter(log, record, record->term, append_ms);
        outcome = check_term(log, record);
        break;
    case LEADERSHIP_KIND_COUNT:
        break;
    }
    if (outcome != ELECTION_COUNTS)
        return outcome;
    assert(offset > log->last);
    log->last = offset;
    log->last_ms = append_ms;
    log->lease_ms = record->lease_ms < 0                       ? 0
                    : record->lease_ms > ELECTION_LEASE_MS_MAX ? ELECTION_LEASE_MS_MAX
                                                               : record->lease_ms;
    if (record->progress_at != 0 || record->kind == LEADERSHIP_CLAIM)
        log->progress_at = record->progress_at;
    if (record->kind == LEADERSHIP_RELEASE) {
        log->released = true;
        keep_text(record->reason, log->reason);
    }
    return ELECTION_COUNTS;
}
