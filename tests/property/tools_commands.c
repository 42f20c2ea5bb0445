/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve verify` and `reeve export orders`. */
#include "tests/property/tools_run.h"

#include "base/rfc3339.h"
#include "platform/files.h"

#include <assert.h>
#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 400, BUSY_MAX = 40 };

static struct tools_fold fold;

/* The world goes on for a part of the run, and then lets it end. */
static void begin(struct tools *tools)
{
    tools->busy = dice_roll(&tools->dice, BUSY_MAX);
}

static const char *fold_now(struct tools *tools, int32_t partition, int64_t from)
{
    return tools_fold(tools->world, partition, from, log_end(tools->world, "p.events", partition),
                      &fold);
}

/* A record stopped it, and no Reset skips that yet, or it is of an older version. Only then may it
 * fail. */
static const char *check_code(struct tools *tools, const char *what, const struct tools_run *run)
{
    if (run->code == EXIT_CODE_OK)
        return NULL;
    if (run->code != EXIT_CODE_NEGATIVE && (tools->span.stopped || tools_are_outdated(tools))) {
        tools->met[TOOLS_STOPPED]++;
        return NULL;
    }
    return wrong("%s: exit code %d: %.300s", what, run->code, run->err);
}

/* ---- verify ---- */

/* It began where the log did at some time of the run. */
static const char *check_start(struct tools *tools, int32_t partition, int64_t start)
{
    const struct tools_span *span = &tools->span;
    const char *failed = fold_now(tools, partition, 0);
    int64_t latest = tools_fold_beginning(&fold, span->low_max[partition]);
    if (failed != NULL)
        return failed;
    if (!tools_fold_may_begin(&fold, start) || start < span->low_min[partition] || start > latest)
        return wrong("a reader began at %lld: the log began at %lld to %lld, where all orders are "
                     "known from %lld on",
                     (long long)start, (long long)span->low_min[partition],
                     (long long)span->low_max[partition], (long long)latest);
    return NULL;
}

static const char *check_counts(struct tools *tools, const struct tools_verify_fold *verify)
{
    uint64_t by_state[ORDER_STATE_COUNT] = {0};
    uint64_t orders = 0;
    const char *failed =
        tools_fold(tools->world, verify->partition, verify->start, verify->next, &fold);
    if (failed != NULL)
        return failed;
    for (uint32_t i = 0; i < fold.order_count; i++) {
        const struct tools_order *order = &fold.orders[i];
        orders += order->known_at >= 0;
        by_state[order->state] += order->known_at >= 0 && order->gone_at < 0;
    }
    if (verify->counts.decisions != tools_fold_decisions(&fold) || verify->counts.orders != orders)
        return wrong(
            "verify counts %llu orders in %llu decisions from %lld to %lld, there are %llu "
            "in %llu",
            (unsigned long long)verify->counts.orders, (unsigned long long)verify->counts.decisions,
            (long long)verify->start, (long long)verify->next, (unsigned long long)orders,
            (unsigned long long)tools_fold_decisions(&fold));
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        if (verify->counts.by_state[state] != by_state[state])
            return wrong("verify counts %llu orders that are %s, there are %llu",
                         (unsigned long long)verify->counts.by_state[state],
                         order_state_name((enum order_state)state),
                         (unsigned long long)by_state[state]);
    return NULL;
}

static void count_verified(struct tools *tools, const struct tools_verify_fold *verify)
{
    const struct tools_span *span = &tools->span;
    tools->met[TOOLS_VERIFIED] += verify->rules;
    tools->met[TOOLS_VERIFIED_INSIDE] += verify->rules && verify->start > 0;
    tools->met[TOOLS_VERIFIED_TRIMMED] +=
        verify->rules && span->low_max[verify->partition] > span->low_min[verify->partition];
    tools->met[TOOLS_COMPARED] += !verify->rules && !verify->overtaken;
}

const char *tools_verify(struct tools *tools, bool live)
{
    const char *const plain[] = {"verify", NULL};
    const char *const with_live[] = {"verify", "--live", "services", NULL};
    struct tools_run run;
    begin(tools);
    tools_run(tools, &cli_verify, live ? with_live : plain, &run);
    const char *failed = check_code(tools, live ? "verify --live" : "verify", &run);
    tools->met[TOOLS_NOT_COMPARED] += strstr(run.err, "trimmed") != NULL;
    for (uint32_t i = 0; i < run.fold_count && failed == NULL; i++) {
        const struct tools_verify_fold *verify = &run.folds[i];
        if (verify->class != ERROR_OK)
            continue;
        count_verified(tools, verify);
        if (verify->rules)
            failed = check_start(tools, verify->partition, verify->start);
        if (verify->rules && failed == NULL)
            failed = check_counts(tools, verify);
    }
    tools_run_free(&run);
    return failed;
}

/* ---- export ---- */

/* By the place in the fold. */
struct exported {
    uint32_t counts[TOOLS_ORDERS_MAX];
    bool resets; /* what counted when it was exported may count no longer */
    const char *failed;
};

static void take_line(struct exported *exported, const char *line)
{
    const char *id = NULL;
    const char *state = NULL;
    const char *ended_at = NULL;
    int64_t ended_ms = 0;
    json_t *json = json_loads(line, 0, NULL);
    if (json_unpack(json, "{s:s, s:s, s:s}", "order_id", &id, "state", &state, "ended_at",
                    &ended_at) != 0 ||
        !rfc3339_parse(text_of(ended_at), &ended_ms)) {
        exported->failed = wrong("export: not an order that has ended: %.200s", line);
        json_decref(json);
        return;
    }
    bool found = false;
    for (uint32_t i = 0; i < fold.order_count && !found; i++) {
        const struct tools_order *order = &fold.orders[i];
        found = strcmp(order->id, id) == 0 && order->ended_at >= 0 && order->ended_ms == ended_ms &&
                strcmp(order_state_name(order->state), state) == 0;
        exported->counts[i] += found;
    }
    if (!found && !exported->resets)
        exported->failed = wrong("export: %s is %s at %s, which it was not", id, state, ended_at);
    json_decref(json);
}

static void read_file(struct exported *exported, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    assert(file != NULL);
    while (exported->failed == NULL && getline(&line, &size, file) > 0)
        take_line(exported, line);
    fclose(file);
    free(line);
}

static void read_files(struct exported *exported, const char *folder, int32_t partition)
{
    char path[PATH_SIZE + 300];
    char prefix[32];
    DIR *directory = opendir(folder);
    assert(directory != NULL);
    snprintf(prefix, sizeof(prefix), "orders-%05d-", partition);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        read_file(exported, path);
    }
    closedir(directory);
}

/* Each order that had ended before the run began, where the log still has its end, is there once;
 * others that ended are there at most once. */
static const char *check_exported(struct tools *tools, const char *folder, int32_t partition)
{
    const struct tools_span *span = &tools->span;
    struct exported exported = {.resets = tools->resets != span->resets};
    const char *failed = fold_now(tools, partition, 0);
    int64_t begins = tools_fold_beginning(&fold, span->low_max[partition]);
    if (failed == NULL)
        failed = fold_now(tools, partition, begins);
    if (failed != NULL)
        return failed;
    read_files(&exported, folder, partition);
    for (uint32_t i = 0; i < fold.order_count && exported.failed == NULL; i++) {
        const struct tools_order *order = &fold.orders[i];
        bool needed = order->ended_at >= begins && order->ended_at < span->high[partition] &&
                      order->known_at >= 0;
        bool possible = order->ended_at >= span->low_min[partition];
        if (exported.counts[i] < needed || exported.counts[i] > possible)
            return wrong("export: %s, which ended at %lld and is known at %lld, is there %u times; "
                         "the log began at %lld to %lld and ended at %lld",
                         order->id, (long long)order->ended_at, (long long)order->known_at,
                         exported.counts[i], (long long)span->low_min[partition],
                         (long long)span->low_max[partition], (long long)span->high[partition]);
    }
    return exported.failed;
}

const char *tools_export_orders(struct tools *tools)
{
    char folder[PATH_SIZE];
    struct tools_run run;
    snprintf(folder, sizeof(folder), "%s/export", tools->world->run->folder);
    files_remove_tree(folder, NULL);
    const char *const arguments[] = {"export", "orders", folder, "--format", "jsonl", NULL};
    begin(tools);
    tools_run(tools, &cli_export, arguments, &run);
    const char *failed = check_code(tools, "export orders", &run);
    for (int32_t p = 0; p < tools->world->partitions && failed == NULL && run.code == EXIT_CODE_OK;
         p++) {
        tools->met[TOOLS_EXPORTED]++;
        tools->met[TOOLS_EXPORTED_TRIMMED] += tools->span.low_max[p] > tools->span.low_min[p];
        failed = check_exported(tools, folder, p);
    }
    tools_run_free(&run);
    return failed;
}
