/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve verify`: folds the log into fresh stores, checks the rules of every order, and compares
 * the digests of live stores. A table shows what failed only; JSON shows every check. */
#include "cli/output.h"
#include "cli/scratch.h"
#include "cli/session.h"
#include "cli/verify/fold.h"
#include "cli/verify/live_stores.h"
#include "platform/files.h"
#include "replica/service/view_report.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { SERVICES_SIZE = 600 };

struct verify {
    struct cli *cli;
    struct cli_session *session;
    struct store_env *stores;
    struct output *output; /* a table of checks that failed */
    char scratch[CLI_SCRATCH_SIZE];
    struct verify_live live;
    struct verify_counts total;
    int64_t *complete_from; /* by partition */
    int32_t trimmed;        /* partitions whose beginning is gone */
    uint32_t not_compared;  /* live stores that are too old for that */
    uint64_t differences;
};

/* ---- rows ---- */

static const struct output_column columns[] = {
    {"PARTITION", "partition", output_value, true},
    {"STORE", "store", output_value, false},
    {"START", "start", output_value, true},
    {"RECORDS", "records", output_value, true},
    {"SKIPPED", "skipped", output_value, true},
    {"ORDERS", "orders", output_value, true},
    {"DIGEST", "digest", output_value, false},
    {"RESULT", "result", output_value, false},
    {0},
};

/* `failure` NULL: the check passed. */
static void add_row(struct verify *verify, int32_t partition, const char *store,
                    const struct verify_fold *fold, const struct content_hash *digest,
                    uint64_t orders, const char *failure)
{
    if (failure == NULL && verify->cli->output == CLI_OUTPUT_TABLE)
        return;
    char text[DIGEST_TEXT_SIZE];
    digest_text(digest, text);
    const struct checkpoint *checkpoint = follower_checkpoint(fold->follower);
    json_int_t records = checkpoint->next_event_offset - checkpoint->start;
    output_row(verify->output,
               json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:s, s:s}", "partition", partition,
                         "store", store, "start", (json_int_t)checkpoint->start, "records", records,
                         "skipped", (json_int_t)checkpoint->skipped, "orders", (json_int_t)orders,
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

/* Folds [0, until] of the partition into an empty store. */
static enum error_class fold_partition(struct verify *verify, struct verify_fold *fold,
                                       struct content_hash *ret_digest, uint64_t *ret_orders,
                                       struct error *ret_error)
{
    char path[PATH_MAX + 32];
    fold->session = verify->session;
    fold->progress = verify->cli->err;
    fold->stores = verify->stores;
    snprintf(path, sizeof(path), "%s/%d-%s", verify->scratch, fold->partition,
             fold->deadlines ? "deadlines" : "orders");
    enum error_class class = files_remove_tree(path, ret_error);
    if (class == ERROR_OK)
        class = verify_fold_run(fold, path, ret_error);
    if (class == ERROR_OK && !fold->overtaken)
        class = store_digest(view_store(follower_view(fold->follower)), ret_digest, ret_orders,
                             ret_error);
    return class;
}

static enum error_class check_log(struct verify *verify, int32_t partition, struct error *ret_error)
{
    struct content_hash digest = {{0}};
    uint64_t orders = 0;
    struct verify_fold fold = {.partition = partition, .rules = true, .until = INT64_MAX};
    enum error_class class = fold_partition(verify, &fold, &digest, &orders, ret_error);
    for (uint32_t i = 0; i < fold.finding_count; i++)
        cli_report(verify->cli, CODE_VIOLATION, "violation: %s", fold.findings[i]);
    if (class == ERROR_OK) {
        add_counts(verify, &fold.counts);
        verify->complete_from[partition] = fold.complete_from;
        verify->trimmed += follower_checkpoint(fold.follower)->start > 0;
        add_row(verify, partition, "log", &fold, &digest, orders,
                fold.counts.findings == 0 ? NULL : "violations");
    }
    verify_fold_deinit(&fold);
    return class;
}

static void report_overtaken(struct verify *verify, const struct verify_live_store *live)
{
    verify->not_compared++;
    cli_report(verify->cli, CODE_NOT_COMPARED,
               "%s, partition %d: the store is at offset %" PRId64
               ", and the log was trimmed: what is left of it gives all orders only from a later "
               "offset on",
               live->service, live->partition, live->next_event_offset);
}

static void compare(struct verify *verify, const struct verify_live_store *live,
                    const struct verify_fold *fold, const struct content_hash *digest,
                    uint64_t orders)
{
    char text[DIGEST_TEXT_SIZE];
    digest_text(digest, text);
    bool equal = strcmp(text, live->digest) == 0;
    add_row(verify, live->partition, live->service, fold, digest, orders, equal ? NULL : "differs");
    if (equal)
        return;
    verify->differences++;
    cli_report(verify->cli, CODE_DIFFERENCE,
               "%s, partition %d at offset %" PRId64 ": the store has digest %s and %" PRIu64
               " orders, the log gives %s and %" PRIu64,
               live->service, live->partition, live->next_event_offset, live->digest, live->orders,
               text, orders);
}

/* A live store against a fresh fold up to the same offset. */
static enum error_class check_live(struct verify *verify, const struct verify_live_store *live,
                                   struct error *ret_error)
{
    struct content_hash digest = {{0}};
    uint64_t orders = 0;
    struct verify_fold fold = {.partition = live->partition,
                               .deadlines = live->deadlines,
                               .until = live->next_event_offset - 1};
    if (live->next_event_offset == 0)
        return ERROR_OK;
    if (live->partition < 0 || live->partition >= verify->session->cluster->partition_count)
        return error_set(ret_error, CODE_NO_PARTITION,
                         "%s has a store of partition %" PRId32 ", which does not exist",
                         live->service, live->partition);
    if (live->next_event_offset < verify->complete_from[live->partition]) {
        report_overtaken(verify, live);
        return ERROR_OK;
    }
    enum error_class class = fold_partition(verify, &fold, &digest, &orders, ret_error);
    if (class == ERROR_OK && fold.overtaken)
        report_overtaken(verify, live);
    else if (class == ERROR_OK)
        compare(verify, live, &fold, &digest, orders);
    verify_fold_deinit(&fold);
    return class;
}

static enum error_class check_all(struct verify *verify, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int32_t p = 0; p < verify->session->cluster->partition_count && class == ERROR_OK; p++)
        class = check_log(verify, p, ret_error);
    for (uint32_t i = 0; i < verify->live.count && class == ERROR_OK; i++)
        class = check_live(verify, &verify->live.stores[i], ret_error);
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
                          total->by_state[ORDER_COMPENSATING] + total->by_state[ORDER_HELD];
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
    struct service_credentials credentials;
    const char *root = cli_flag_value(cli, "live");
    if (service_credentials_read(cli->config, "console", &credentials, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    if (cli_scratch_make("verify", verify.scratch, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum error_class class = cli_session_open(cli, 0, &session, &error);
    if (class == ERROR_OK) {
        struct store_options options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
        verify.stores = store_env_new(&options);
        verify.output = output_new(cli, columns);
        output_omit_empty(verify.output);
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
     .run = run}};

const struct cli_noun cli_verify = {.name = "verify",
                                    .summary = "Checking the log and the stores made from it.",
                                    .verbs = verbs,
                                    .verb_count = 1};
