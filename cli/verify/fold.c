/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/fold.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

enum { CACHE_BYTES = 32 * 1024 * 1024, PROGRESS_MS = 1000 };

static void on_finding(void *ctx, const char *finding)
{
    struct verify_fold *fold = ctx;
    if (fold->finding_count < VERIFY_FINDINGS_SHOWN)
        snprintf(fold->findings[fold->finding_count++], VERIFY_FINDING_SIZE, "%s", finding);
}

/* ---- what counts already ---- */

static uint64_t hash_of(const struct broker_record *record)
{
    return XXH3_64bits(record->value.data, record->value.size);
}

/* Committed records never come again. */
static void forget_committed(struct verify_fold *fold)
{
    int64_t committed = view_committed(follower_view(fold->follower))->next_event_offset;
    assert(fold->again == fold->counted_count);
    if (fold->counted_count > 0 && fold->counted[0].offset < committed)
        fold->counted_count = fold->again = 0;
}

static void remember(struct verify_fold *fold, const struct broker_record *record)
{
    forget_committed(fold);
    if (fold->counted_count == fold->counted_size) {
        fold->counted_size = fold->counted_size == 0 ? 1024 : fold->counted_size * 2;
        fold->counted = realloc(fold->counted, fold->counted_size * sizeof(fold->counted[0]));
        assert(fold->counted != NULL);
    }
    fold->counted[fold->counted_count++] = (struct verify_counted){record->offset, hash_of(record)};
    fold->again = fold->counted_count;
    fold->next = record->offset + 1;
}

/* It is unknown what the records before would have counted for: all of them count again. */
static void start_over(struct verify_fold *fold)
{
    follower_restart(fold->follower, true, 0);
}

/* True: the record has come again, or it is another one where one has counted. */
static bool has_counted(struct verify_fold *fold, const struct broker_record *record)
{
    if (fold->again == fold->counted_count)
        return false;
    const struct verify_counted *counted = &fold->counted[fold->again];
    if (counted->offset == record->offset && counted->hash == hash_of(record))
        fold->again++;
    else
        start_over(fold);
    return true;
}

/* ---- the follower ---- */

/* Also when an operator's Reset skips what is folded already, or the log was trimmed beyond it. */
static void forget_all(void *ctx)
{
    struct verify_fold *fold = ctx;
    fold->complete_from = fold->next = 0;
    fold->counted_count = fold->again = fold->finding_count = 0;
    if (fold->checks != NULL)
        verify_rules_restart(fold->checks);
}

static void on_checked(void *ctx)
{
    struct verify_fold *fold = ctx;
    int64_t next = follower_checkpoint(fold->follower)->next_event_offset;
    if (next > fold->next) /* it begins there */
        forget_all(fold);
    else if (next < fold->next)
        fold->again = 0;
    follower_run(fold->follower, fold->until);
}

static void check_rules(struct verify_fold *fold, const struct broker_record *record,
                        const struct view_folded *folded, bool complete)
{
    if (folded->admission != ADMITTED)
        return;
    if (folded->kind == RECORD_CLAIM)
        verify_rules_claim(fold->checks, &folded->record->claim);
    else if (folded->kind == RECORD_RESET)
        verify_rules_reset(fold->checks, &folded->record->reset);
    else if (folded->kind == RECORD_DECISION)
        verify_rules_decision(fold->checks, &folded->record->decision,
                              !complete && folded->order == NULL && !folded->existed,
                              record->offset);
    else if (folded->kind == RECORD_STATEMENT)
        verify_rules_statement(fold->checks, &folded->record->statement, record->offset);
    else if (folded->kind == RECORD_EXPIRY)
        verify_rules_expiry(fold->checks, &folded->record->expiry, record->offset);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct verify_fold *fold = ctx;
    bool complete = follower_checkpoint(fold->follower)->complete;
    if (has_counted(fold, record))
        return;
    if (!complete)
        fold->complete_from = record->offset + 2; /* with the next record, at the earliest */
    if (fold->checks != NULL)
        check_rules(fold, record, folded, complete);
    remember(fold, record);
}

static void on_caught_up(void *ctx)
{
    struct verify_fold *fold = ctx;
    int64_t last = follower_checkpoint(fold->follower)->next_event_offset - 1;
    if (fold->again < fold->counted_count)
        start_over(fold);
    else if (fold->until > last) { /* it grows: what comes now counts no more */
        fold->until = last;
        follower_bound(fold->follower, last);
    } else
        fold->done = true;
}

static void on_overtaken(void *ctx)
{
    struct verify_fold *fold = ctx;
    fold->overtaken = fold->done = true;
}

static const struct follower_ops fold_ops = {.checked = on_checked,
                                             .folded = on_folded,
                                             .caught_up = on_caught_up,
                                             .dropped = forget_all,
                                             .overtaken = on_overtaken};

static bool is_done(void *ctx)
{
    const struct verify_fold *fold = ctx;
    return fold->done || follower_is_stuck(fold->follower, NULL, NULL);
}

static void show_progress(const struct verify_fold *fold)
{
    if (fold->progress == NULL || !isatty(fileno(fold->progress)))
        return;
    fprintf(fold->progress, "\rpartition %d: %" PRId64 " records folded, %" PRId64 " to go ",
            fold->partition, follower_checkpoint(fold->follower)->next_event_offset,
            follower_lag(fold->follower));
}

enum error_class verify_fold_run(struct verify_fold *fold, const char *path,
                                 struct error *ret_error)
{
    struct cluster *cluster = fold->session->cluster;
    struct view_options options = {.env = fold->stores,
                                   .codec = cluster->codec,
                                   .path = path,
                                   .cache_bytes = CACHE_BYTES,
                                   .deadlines = fold->deadlines};
    assert(fold->follower == NULL && fold->checks == NULL);
    if (fold->rules)
        fold->checks =
            verify_rules_new(fold->partition, cluster->partition_count, on_finding, fold);
    enum error_class class = follower_new(cluster, fold->partition, &options, &fold_ops, fold,
                                          &fold->follower, ret_error);
    if (class != ERROR_OK)
        return class;
    while (!cli_session_wait(fold->session, is_done, fold, PROGRESS_MS))
        show_progress(fold);
    if (fold->done && fold->checks != NULL)
        verify_rules_end(fold->checks, &fold->counts);
    if (fold->done)
        return ERROR_OK;
    const struct error *stop = NULL;
    bool stuck = follower_is_stuck(fold->follower, &stop, NULL);
    assert(stuck && stop != NULL); /* is_done() */
    *ret_error = *stop;
    return stop->class;
}

void verify_fold_deinit(struct verify_fold *fold)
{
    follower_free(fold->follower);
    verify_rules_free(fold->checks);
    free(fold->counted);
    fold->follower = NULL;
    fold->checks = NULL;
    fold->counted = NULL;
}
