/* SPDX-License-Identifier: Apache-2.0 */
/* The seams are those of the linker: where a command opens its session, reads the services' stores
 * and folds, these functions come first (LINKER:--wrap in tools.cmake). */
#include "tests/property/tools_run.h"

#include "cli/verify/live_stores.h"
#include "replica/service/view_report.h"

#include <assert.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 16 };

/* The command that runs. */
static struct {
    struct tools *tools;
    struct tools_run *run;
    struct loop_deferred turn;
} current;

/* ---- the session ---- */

static void on_turn(void *ctx)
{
    struct cli_session *session = ctx;
    tools_turn(current.tools);
    tools_span_note(current.tools, &current.tools->span);
    loop_defer(session->context.loop, &current.turn);
}

static void on_ready(void *ctx)
{
    struct cli_session *session = ctx;
    session->ready = true;
}

static bool is_ready(void *ctx)
{
    const struct cli_session *session = ctx;
    return session->ready;
}

enum error_class __wrap_cli_session_open(struct cli *cli, unsigned flags,
                                         struct cli_session *session, struct error *ret_error);
enum error_class __wrap_cli_session_open(struct cli *cli, unsigned flags,
                                         struct cli_session *session, struct error *ret_error)
{
    struct tools *tools = current.tools;
    *session = (struct cli_session){.metrics = metrics_new()};
    session->context = (struct service_context){.name = "cli",
                                                .instance_id = "cli-1",
                                                .data_dir = tools->world->run->folder,
                                                .clock = &tools->clock.clock,
                                                .config = cli->config,
                                                .metrics = session->metrics};
    enum error_class class = loop_new(&tools->clock.clock, &session->context.loop, ret_error);
    assert(class == ERROR_OK);
    loop_deferred_init(&current.turn, on_turn, session);
    loop_defer(session->context.loop, &current.turn);
    class = cluster_open_on(&session->context, broker_memory_new(tools->world->kafka, "cli-1"),
                            flags, on_ready, session, &session->cluster, ret_error);
    assert(class == ERROR_OK);
    session->cluster->silent = true;
    while (!cli_session_wait(session, is_ready, session, 1000))
        continue;
    return ERROR_OK;
}

void __real_cli_session_close(struct cli_session *session);
void __wrap_cli_session_close(struct cli_session *session);
void __wrap_cli_session_close(struct cli_session *session)
{
    loop_defer_cancel(session->context.loop, &current.turn);
    __real_cli_session_close(session);
}

/* ---- verify ---- */

static void add_store(struct verify_live *live, const struct instance *instance, int32_t partition)
{
    struct error error;
    struct content_hash digest;
    struct view *view = owner_view(instance->partitions[partition].owner);
    if (view_store(view) == NULL || !view_report_holds(view))
        return;
    live->stores = realloc(live->stores, (live->count + 1) * sizeof(live->stores[0]));
    assert(live->stores != NULL);
    struct verify_live_store *store = &live->stores[live->count++];
    *store = (struct verify_live_store){
        .partition = partition, .next_event_offset = view_committed(view)->next_event_offset};
    snprintf(store->service, sizeof(store->service), "scheduler %s", instance->name);
    enum error_class class = store_digest(view_store(view), &digest, &store->orders, &error);
    assert(class == ERROR_OK);
    digest_text(&digest, store->digest);
}

/* What the schedulers would answer. */
enum error_class __wrap_verify_live_read(const char *directory,
                                         const struct service_credentials *credentials,
                                         struct verify_live *live, struct error *ret_error);
enum error_class __wrap_verify_live_read(const char *directory,
                                         const struct service_credentials *credentials,
                                         struct verify_live *live, struct error *ret_error)
{
    const struct world *world = current.tools->world;
    (void)directory;
    (void)credentials;
    (void)ret_error;
    for (uint32_t i = 0; i < INSTANCES; i++)
        for (int32_t p = 0; p < world->partitions; p++)
            if (world->instances[i].process.cluster != NULL &&
                world->instances[i].partitions[p].owner != NULL)
                add_store(live, &world->instances[i], p);
    return ERROR_OK;
}

enum error_class __real_verify_fold_run(struct verify_fold *fold, const char *path,
                                        struct error *ret_error);
enum error_class __wrap_verify_fold_run(struct verify_fold *fold, const char *path,
                                        struct error *ret_error);
enum error_class __wrap_verify_fold_run(struct verify_fold *fold, const char *path,
                                        struct error *ret_error)
{
    assert(current.run->fold_count < TOOLS_VERIFY_FOLDS_MAX);
    enum error_class class = __real_verify_fold_run(fold, path, ret_error);
    const struct checkpoint *checkpoint = follower_checkpoint(fold->follower);
    current.run->folds[current.run->fold_count++] =
        (struct tools_verify_fold){.partition = fold->partition,
                                   .rules = fold->rules,
                                   .class = class,
                                   .overtaken = fold->overtaken,
                                   .start = checkpoint->start,
                                   .next = checkpoint->next_event_offset,
                                   .counts = fold->counts};
    return class;
}

/* ---- a command ---- */

void tools_run(struct tools *tools, const struct cli_noun *noun, const char *const arguments[],
               struct tools_run *ret_run)
{
    char *argv[ARGUMENTS_MAX] = {NULL};
    char *const environment[] = {NULL};
    char *printed = NULL;
    size_t out_size = 0;
    size_t err_size = 0;
    int argc = 0;
    *ret_run = (struct tools_run){0};
    for (; arguments[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc];
    argv[argc++] = (char *)(uintptr_t) "--topics-prefix";
    argv[argc++] = (char *)(uintptr_t) "p";
    assert(argc < ARGUMENTS_MAX && current.tools == NULL);
    current.tools = tools;
    current.run = ret_run;
    FILE *out = open_memstream(&printed, &out_size);
    FILE *err = open_memstream(&ret_run->err, &err_size);
    tools_span_begin(tools, &tools->span);
    ret_run->code =
        cli_main(argc, argv, environment, (const struct cli_noun *const[]){noun, NULL}, out, err);
    fclose(out);
    fclose(err);
    free(printed);
    current.tools = NULL;
    tools->met[TOOLS_SKIPPED] += tools->resets != tools->span.resets;
}

void tools_run_free(struct tools_run *run)
{
    free(run->err);
    run->err = NULL;
}
