/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve verify`: folds the log afresh beside the live stores, compares digests, checks the
 * order-level rules. */
#include "cli/output.h"
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

enum { FINDINGS_SHOWN = 20, CACHE_ORDERS = 20000, PROGRESS_MS = 1000 };

/* One fold of one partition, up to `until`. */
struct verify_fold {
    struct cli *cli;
    struct verify_rules *rules;
    struct follower *follower;
    int64_t until;
    bool done;
    bool failed;
    struct error error;
    uint64_t skipped;
    uint64_t findings_shown;
};

struct verify {
    struct cli *cli;
    struct cli_session *session;
    struct store_env *stores;
    struct output *output;
    char scratch[PATH_MAX];
    struct verify_live live;
    struct verify_counts total;
    uint64_t differences;
};

static void on_finding(void *ctx, const char *finding)
{
    struct verify_fold *fold = ctx;
    if (fold->findings_shown++ < FINDINGS_SHOWN)
        fprintf(fold->cli->err, "violation: %s\n", finding);
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
    if (folded->admission != ADMITTED)
        fold->skipped++;
    else if (fold->rules != NULL && folded->kind == RECORD_CLAIM)
        verify_rules_claim(fold->rules, &folded->record->claim);
    else if (fold->rules != NULL && folded->kind == RECORD_DECISION)
        verify_rules_decision(fold->rules, &folded->record->decision, record->offset);
}

static void on_caught_up(void *ctx)
{
    struct verify_fold *fold = ctx;
    fold->done = true;
}

static void on_stopped(void *ctx, const struct error *error)
{
    struct verify_fold *fold = ctx;
    fold->error = *error;
    fold->failed = fold->done = true;
}

static const struct follower_ops fold_ops = {
    .checked = on_checked, .folded = on_folded, .caught_up = on_caught_up, .stopped = on_stopped};

static bool is_done(void *ctx)
{
    const struct verify_fold *fold = ctx;
    return fold->done;
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
                                   .cache_orders = CACHE_ORDERS,
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
    if (!fold->failed)
        return ERROR_OK;
    *ret_error = fold->error;
    return fold->error.class;
}

/* ---- rows ---- */

static void put_row(struct verify *verify, int32_t partition, const char *what,
                    const struct verify_fold *fold, const struct content_hash *digest,
                    uint64_t orders, const char *verdict)
{
    char text[DIGEST_TEXT_SIZE];
    digest_text(digest, text);
    int64_t records = view_checkpoint(follower_view(fold->follower))->next_event_offset;
    output_row(verify->output,
               json_pack("{s:i, s:s, s:I, s:I, s:I, s:s, s:s}", "partition", partition, "store",
                         what, "records", (json_int_t)records, "skipped", (json_int_t)fold->skipped,
                         "orders", (json_int_t)orders, "digest", text, "verdict", verdict));
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
        put_row(verify, partition, "log", &fold, &digest, orders,
                counts.findings == 0 ? "clean" : "VIOLATIONS");
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
    enum error_class class =
        fold_partition(verify, live->partition, live->deadlines, &fold, ret_error);
    if (class == ERROR_OK)
        class = store_digest(view_store(follower_view(fold.follower)), &digest, &orders, ret_error);
    if (class == ERROR_OK) {
        digest_text(&digest, text);
        bool equal = strcmp(text, live->digest) == 0;
        put_row(verify, live->partition, live->url, &fold, &digest, orders,
                equal ? "equal" : "DIFFERENT");
        if (!equal) {
            verify->differences++;
            fprintf(verify->cli->err,
                    "difference: %s partition %d at offset %" PRId64
                    ": the live store has digest %s and %" PRIu64 " orders, the log gives %s and "
                    "%" PRIu64 "\n",
                    live->url, live->partition, live->next_event_offset, live->digest, live->orders,
                    text, orders);
        }
    }
    follower_free(fold.follower);
    return class;
}

static const struct output_column columns[] = {
    {"partition", "PARTITION", true}, {"store", "STORE", false},  {"records", "RECORDS", true},
    {"skipped", "SKIPPED", true},     {"orders", "ORDERS", true}, {"digest", "DIGEST", false},
    {"verdict", "VERDICT", false},
};

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

static void summarize(struct verify *verify)
{
    const struct verify_counts *total = &verify->total;
    uint64_t unfinished = total->by_state[ORDER_PENDING] + total->by_state[ORDER_PROCESSING] +
                          total->by_state[ORDER_COMPENSATING];
    if (verify->cli->output == CLI_OUTPUT_TABLE)
        fprintf(verify->cli->out,
                "\n%" PRIu64 " orders: %" PRIu64 " processed, %" PRIu64 " compensated, %" PRIu64
                " error, %" PRIu64 " unfinished; %" PRIu64 " decisions\n%s: %" PRIu64
                " violations, %" PRIu64 " differing stores, %u live stores compared\n",
                total->orders, total->by_state[ORDER_PROCESSED], total->by_state[ORDER_COMPENSATED],
                total->by_state[ORDER_ERROR], unfinished, total->decisions,
                total->findings + verify->differences == 0 ? "clean" : "NOT CLEAN", total->findings,
                verify->differences, verify->live.count);
}

static enum error_class make_scratch(struct verify *verify, struct error *ret_error)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(verify->scratch, sizeof(verify->scratch), "%s/reeve-verify-XXXXXX",
             temporary != NULL && *temporary != '\0' ? temporary : "/tmp");
    if (mkdtemp(verify->scratch) == NULL)
        return error_set(ret_error, ERROR_FATAL, "Scratch", "cannot make %s: %s", verify->scratch,
                         strerror(errno));
    return ERROR_OK;
}

static int run(struct cli *cli)
{
    struct error error;
    struct cli_session session;
    struct verify verify = {.cli = cli, .session = &session};
    const char *root = cli_flag_value(cli, "live");
    if (make_scratch(&verify, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    enum error_class class = cli_session_open(cli, 0, &session, &error);
    if (class == ERROR_OK) {
        struct store_options options = {.cache_bytes = 32 << 20, .write_buffer_bytes = 64 << 20};
        verify.stores = store_env_new(&options);
        verify.output =
            output_new(cli->out, cli->output, columns, sizeof(columns) / sizeof(*columns));
        if (root != NULL)
            class = verify_live_read(root, &verify.live, &error);
        if (class == ERROR_OK)
            class = check_all(&verify, &error);
        (void)output_finish(verify.output);
        cli_session_close(&session);
        store_env_free(verify.stores);
    }
    (void)files_remove_tree(verify.scratch, NULL);
    if (class == ERROR_OK)
        summarize(&verify);
    verify_live_free(&verify.live);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    return verify.total.findings + verify.differences == 0 ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
}

static const struct cli_flag flags[] = {
    {"live", "DIR",
     "Compares the live stores too: of every service whose data directory is DIR or in DIR."},
    {0}};

static const struct cli_verb verbs[] = {
    {.summary = "Fold the log afresh, check the rules, compare live stores with it",
     .examples = "reeve verify\n"
                 "# with the stores of the services that run below /var/lib/reeve\n"
                 "reeve verify --live /var/lib/reeve\n",
     .flags = flags,
     .config_services = SETTINGS_CLI,
     .output = true,
     .run = run}};

const struct cli_noun cli_verify = {.name = "verify",
                                    .summary = "Check the log and the stores made from it",
                                    .verbs = verbs,
                                    .verb_count = 1};
