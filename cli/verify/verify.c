/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve verify`: folds the log into fresh stores, checks the rules of every order, and compares
 * the digests of live stores. A table shows what failed only; JSON shows every check. */
#include "cli/output.h"
#include "cli/scratch.h"
#include "cli/session.h"
#include "cli/verify/live_stores.h"
#include "cli/verify/rules.h"
#include "platform/files.h"
#include "replica/follower.h"
#include "replica/settings.h"
#include "replica/view_report.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FINDINGS_SHOWN = 20,
    CACHE_BYTES = 32 * 1024 * 1024,
    PROGRESS_MS = 1000,
    SERVICES_SIZE = 600
};

/* One fold of one partition, up to `until`. */
struct verify_fold {
    struct cli *cli;
    struct verify_rules *rules;
    struct follower *follower;
    int64_t until;
    int64_t complete_from; /* the offset from which all orders are known */
    bool done;
    uint64_t skipped;
    uint64_t findings_shown;
};

struct verify {
    struct cli *cli;
    struct cli_session *session;
    struct store_env *stores;
    struct output *output; /* a table: NULL until a check fails */
    char scratch[CLI_SCRATCH_SIZE];
    struct verify_live live;
    struct verify_counts total;
    int64_t *complete_from; /* by partition */
    int32_t trimmed;        /* partitions whose beginning is gone */
    uint32_t not_compared;  /* live stores that are too old for that */
    uint64_t differences;
};

static void on_finding(void *ctx, const char *finding)
{
    struct verify_fold *fold = ctx;
    if (fold->findings_shown++ < FINDINGS_SHOWN)
        cli_report(fold->cli, "Violation", "violation: %s", finding);
}

static void on_checked(void *ctx)
{
    struct verify_fold *fold = ctx;
    follower_run(fold->follower, fold->until);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct verify_fold *fold = ctx;
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(fold->follower));
    if (!checkpoint->complete)
        fold->complete_from = record->offset + 2; /* with the next record, at the earliest */
    if (folded->admission != ADMITTED)
        fold->skipped++;
    else if (fold->rules != NULL && folded->kind == RECORD_CLAIM)
        verify_rules_claim(fold->rules, &folded->record->claim);
    else if (fold->rules != NULL && folded->kind == RECORD_RESET)
        verify_rules_reset(fold->rules, &folded->record->reset);
    else if (fold->rules != NULL && folded->kind == RECORD_DECISION)
        verify_rules_decision(fold->rules, &folded->record->decision,
                              !checkpoint->complete && folded->order == NULL && !folded->existed,
                              record->offset);
    else if (fold->rules != NULL && folded->kind == RECORD_STATEMENT)
        verify_rules_statement(fold->rules, &folded->record->statement, record->offset);
    else if (fold->rules != NULL && folded->kind == RECORD_EXPIRY)
        verify_rules_expiry(fold->rules, &folded->record->expiry, record->offset);
}

static void on_caught_up(void *ctx)
{
    struct verify_fold *fold = ctx;
    fold->done = true;
}

/* An operator's Reset skips what is folded already. */
static void on_dropped(void *ctx)
{
    struct verify_fold *fold = ctx;
    fold->skipped = 0;
    fold->complete_from = 0;
    if (fold->rules != NULL)
        verify_rules_restart(fold->rules);
}

static const struct follower_ops fold_ops = {
    .checked = on_checked, .folded = on_folded, .caught_up = on_caught_up, .dropped = on_dropped};

static bool is_done(void *ctx)
{
    const struct verify_fold *fold = ctx;
    return fold->done || follower_is_stuck(fold->follower, NULL, NULL);
}

/* Folds [0, until] of the partition into an empty store; the view stays open in fold->follower. */
static enum error_class fold_partition(struct verify *verify, int32_t partition, bool deadlines,
                                       struct verify_fold *fold, struct error *ret_error)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/%d-%s", verify->scratch, partition,
             deadlines ? "deadlines" : "orders");
    struct view_options options = {.env = verify->stores,
                                   .codec = verify->session->cluster->codec,
                                   .path = path,
                                   .cache_bytes = CACHE_BYTES,
                                   .deadlines = deadlines};
    enum error_class class = follower_new(verify->session->cluster, partition, &options, &fold_ops,
                                          fold, &fold->follower, ret_error);
    if (class != ERROR_OK)
        return class;
    while (!cli_session_wait(verify->session, is_done, fold, PROGRESS_MS))
        if (isatty(STDERR_FILENO))
            fprintf(verify->cli->err,
                    "\rpartition %d: %" PRId64 " records folded, %" PRId64 " to go ", partition,
                    view_checkpoint(follower_view(fold->follower))->next_event_offset,
                    follower_lag(fold->follower));
    if (fold->done)
        return ERROR_OK;
    const struct error *stop = NULL;
    bool stuck = follower_is_stuck(fold->follower, &stop, NULL);
    assert(stuck && stop != NULL); /* is_done() */
    *ret_error = *stop;
    return stop->class;
}

/* ---- rows ---- */

static const struct output_column columns[] = {
    {"partition", "PARTITION", true}, {"store", "STORE", false},    {"start", "START", true},
    {"records", "RECORDS", true},     {"skipped", "SKIPPED", true}, {"orders", "ORDERS", true},
    {"digest", "DIGEST", false},      {"result", "RESULT", false},
};

static struct output *new_output(const struct cli *cli)
{
    return output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(columns[0]));
}

/* `failure` NULL: the check passed. */
static void add_row(struct verify *verify, int32_t partition, const char *store,
                    const struct verify_fold *fold, const struct content_hash *digest,
                    uint64_t orders, const char *failure)
{
    if (failure == NULL && verify->cli->output == CLI_OUTPUT_TABLE)
        return;
    if (verify->output == NULL)
        verify->output = new_output(verify->cli);
    char text[DIGEST_TEXT_SIZE];
    digest_text(digest, text);
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(fold->follower));
    json_int_t records = checkpoint->next_event_offset - checkpoint->start;
    output_row(verify->output,
               json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "partition", partition,
                         "store", store, "start", (json_int_t)checkpoint->start, "records", records,
                         "skipped", (json_int_t)fold->skipped, "orders", (json_int_t)orders,
                         "digest", text, "result", failure != NULL ? failure : "OK"));
}

static void add_counts(struct verify *verify, const struct verify_counts *counts)
{
    verify->total.decisions += counts->decisions;
    verify->total.orders += counts->orders;
    verify->total.findings += counts->findings;
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        verify->total.by_state[state] += counts->by_state[state];
}

static enum error_class check_log(struct verify *verify, int32_t partition, struct error *ret_error)
{
    struct verify_counts counts = {0};
    struct content_hash digest = {{0}};
    uint64_t orders = 0;
    struct verify_fold fold = {.cli = verify->cli, .until = INT64_MAX};
    fold.rules =
        verify_rules_new(partition, verify->session->cluster->partition_count, on_finding, &fold);
    enum error_class class = fold_partition(verify, partition, false, &fold, ret_error);
    if (class == ERROR_OK)
        class = store_digest(view_store(follower_view(fold.follower)), &digest, &orders, ret_error);
    if (class == ERROR_OK) {
        verify_rules_end(fold.rules, &counts);
        add_counts(verify, &counts);
        verify->complete_from[partition] = fold.complete_from;
        verify->trimmed += view_checkpoint(follower_view(fold.follower))->start > 0;
        add_row(verify, partition, "log", &fold, &digest, orders,
                counts.findings == 0 ? NULL : "violations");
    }
    follower_free(fold.follower);
    verify_rules_free(fold.rules);
    return class;
}

/* A live store against a fresh fold up to the same offset. */
static enum error_class check_live(struct verify *verify, const struct verify_live_store *live,
                                   struct error *ret_error)
{
    struct content_hash digest = {{0}};
    char text[DIGEST_TEXT_SIZE];
    uint64_t orders = 0;
    struct verify_fold fold = {.cli = verify->cli, .until = live->next_event_offset - 1};
    if (live->next_event_offset == 0)
        return ERROR_OK;
    if (live->partition < 0 || live->partition >= verify->session->cluster->partition_count)
        return error_set(ret_error, ERROR_REJECT, "NoPartition",
                         "%s has a store of partition %" PRId32 ", which does not exist",
                         live->service, live->partition);
    if (live->next_event_offset < verify->complete_from[live->partition]) {
        verify->not_compared++;
        cli_report(verify->cli, "NotCompared",
                   "%s, partition %d: the store is at offset %" PRId64
                   ", and the log was trimmed: what is left of it gives all orders only from "
                   "offset %" PRId64 " on",
                   live->service, live->partition, live->next_event_offset,
                   verify->complete_from[live->partition]);
        return ERROR_OK;
    }
    enum error_class class =
        fold_partition(verify, live->partition, live->deadlines, &fold, ret_error);
    if (class == ERROR_OK)
        class = store_digest(view_store(follower_view(fold.follower)), &digest, &orders, ret_error);
    if (class == ERROR_OK) {
        digest_text(&digest, text);
        bool equal = strcmp(text, live->digest) == 0;
        add_row(verify, live->partition, live->service, &fold, &digest, orders,
                equal ? NULL : "differs");
        if (!equal) {
            verify->differences++;
            cli_report(verify->cli, "Difference",
                       "%s, partition %d at offset %" PRId64
                       ": the store has digest %s and %" PRIu64
                       " orders, the log gives %s and %" PRIu64,
                       live->service, live->partition, live->next_event_offset, live->digest,
                       live->orders, text, orders);
        }
    }
    follower_free(fold.follower);
    return class;
}

static enum error_class check_all(struct verify *verify, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    char removed[PATH_MAX + 32];
    for (int32_t p = 0; p < verify->session->cluster->partition_count && class == ERROR_OK; p++)
        class = check_log(verify, p, ret_error);
    for (uint32_t i = 0; i < verify->live.count && class == ERROR_OK; i++) {
        const struct verify_live_store *live = &verify->live.stores[i];
        snprintf(removed, sizeof(removed), "%s/%d-%s", verify->scratch, live->partition,
                 live->deadlines ? "deadlines" : "orders");
        class = files_remove_tree(removed, ret_error);
        if (class == ERROR_OK)
            class = check_live(verify, live, ret_error);
    }
    return class;
}

/* "scheduler vm-1-ab, console vm-2-cd": each service once. Its stores follow each other. */
static void list_services(const struct verify_live *live, char ret_list[SERVICES_SIZE])
{
    const char *last = "";
    size_t size = 0;
    ret_list[0] = '\0';
    for (uint32_t i = 0; i < live->count && size < SERVICES_SIZE; i++) {
        const char *service = live->stores[i].service;
        if (strcmp(service, last) != 0)
            size += (size_t)snprintf(ret_list + size, SERVICES_SIZE - size, "%s%s",
                                     size > 0 ? ", " : "", service);
        last = service;
    }
}

static void print_orders(const struct verify *verify)
{
    const struct verify_counts *total = &verify->total;
    uint64_t unfinished = total->by_state[ORDER_PENDING] + total->by_state[ORDER_PROCESSING] +
                          total->by_state[ORDER_COMPENSATING];
    fprintf(verify->cli->out,
            "%" PRIu64 " order%s (%" PRIu64 " processed, %" PRIu64 " compensated, %" PRIu64
            " in Error, %" PRIu64 " unfinished) in %" PRIu64 " decision%s",
            total->orders, total->orders == 1 ? "" : "s", total->by_state[ORDER_PROCESSED],
            total->by_state[ORDER_COMPENSATED], total->by_state[ORDER_ERROR], unfinished,
            total->decisions, total->decisions == 1 ? "" : "s");
}

/* One line. */
static void print_summary(const struct verify *verify)
{
    FILE *out = verify->cli->out;
    uint64_t violations = verify->total.findings;
    char services[SERVICES_SIZE];
    if (violations + verify->differences == 0) {
        fputs("OK: ", out);
        print_orders(verify);
        fputs(", no violations", out);
        list_services(&verify->live, services);
        if (verify->live.count > 0) {
            fprintf(out, "; %u stores equal the log: ", verify->live.count - verify->not_compared);
            output_text(out, services, 0);
        }
    } else {
        fprintf(out, "NOT OK: %" PRIu64 " violation%s; ", violations, violations == 1 ? "" : "s");
        if (verify->live.count > 0)
            fprintf(out, "%" PRIu64 " of %u stores differ from the log; ", verify->differences,
                    verify->live.count);
        print_orders(verify);
    }
    if (verify->trimmed > 0)
        fprintf(out, "; %" PRId32 " partition%s checked from where the trimmed log begins",
                verify->trimmed, verify->trimmed == 1 ? "" : "s");
    fputc('\n', out);
}

static int run(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    struct verify verify = {.cli = cli, .session = &session};
    struct http_credentials credentials;
    const char *root = cli_flag_value(cli, "live");
    if (http_credentials_read(cli->config, &credentials, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (cli_scratch_make("verify", verify.scratch, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum error_class class = cli_session_open(cli, 0, &session, &error);
    if (class == ERROR_OK) {
        struct store_options options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
        verify.stores = store_env_new(&options);
        if (cli->output != CLI_OUTPUT_TABLE)
            verify.output = new_output(cli);
        if (root != NULL)
            class = verify_live_read(root, &credentials, &verify.live, &error);
        if (class == ERROR_OK) {
            verify.complete_from =
                calloc((size_t)session.cluster->partition_count, sizeof(verify.complete_from[0]));
            assert(verify.complete_from != NULL);
            class = check_all(&verify, &error);
        }
        cli_session_close(&session);
        store_env_free(verify.stores);
    }
    files_remove_tree(verify.scratch, NULL);
    int code = class != ERROR_OK                                 ? cli_fail(cli, &error)
               : verify.total.findings + verify.differences == 0 ? EXIT_CODE_OK
                                                                 : EXIT_CODE_NEGATIVE;
    code = output_finish(verify.output, code);
    if (class == ERROR_OK && cli->output == CLI_OUTPUT_TABLE)
        print_summary(&verify);
    verify_live_free(&verify.live);
    free(verify.complete_from);
    return code;
}

static const struct cli_flag flags[] = {
    {"live", "DIR",
     "Also compares the stores of every running service whose data directory is DIR or in DIR."},
    {0}};

static const struct cli_verb verbs[] = {
    {.summary = "Replays the log into fresh stores, checks the rules of every order, and compares "
                "live stores. Exit code 1: a violation or a difference.",
     .examples = "reeve verify\n"
                 "# and the stores of the services with data directories in /var/lib/reeve\n"
                 "reeve verify --live /var/lib/reeve\n",
     .flags = flags,
     .config_services = SETTINGS_CLI,
     .output = true,
     .run = run}};

const struct cli_noun cli_verify = {.name = "verify",
                                    .summary = "Checking the log and the stores made from it.",
                                    .verbs = verbs,
                                    .verb_count = 1};
