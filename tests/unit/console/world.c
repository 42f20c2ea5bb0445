/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/console/world.h"

#include "base/goods.h"
#include "base/rfc3339.h"
#include "platform/files.h"
#include "platform/json_tree.h"
#include "platform/logger.h"
#include "schemas/details.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"
#include "workflow/bodies.h"
#include "workflow/workflow_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS_MAX = 100000, WAIT_MS = 30000, START_MS = 1000000 };

/* ---- the clock ---- */

static int64_t wall_ms(void *ctx)
{
    const struct world *world = ctx;
    return clock_wall_ms(clock_real()) + world->offset_ms;
}

static int64_t mono_ms(void *ctx)
{
    const struct world *world = ctx;
    return clock_mono_ms(clock_real()) + world->offset_ms;
}

static int64_t mono_us(void *ctx)
{
    const struct world *world = ctx;
    return clock_mono_us(clock_real()) + world->offset_ms * 1000;
}

/* ---- life ---- */

struct world *world_new(uint64_t seed, const char *workflow)
{
    struct world *world = calloc(1, sizeof(*world));
    struct error error;
    cr_assert(world != NULL);
    log_set_level(LOG_LEVEL_ERROR);
    world->clock = (struct clock){wall_ms, mono_ms, mono_us, world};
    world->now = START_MS;
    cr_assert(loop_new(&world->clock, &world->loop, &error) == ERROR_OK);
    world->kafka = broker_memory_cluster_new(seed, &world->clock);
    world->codec = codec_new();
    heap_arena_init(&world->heap, 16 * 1024);
    heap_arena_init(&world->workflow_heap, 16 * 1024);
    world->workflow = workflow_of(&world->workflow_heap.arena, workflow);
    snprintf(world->folder, sizeof(world->folder), "/tmp/console-XXXXXX");
    cr_assert(mkdtemp(world->folder) != NULL);
    SITE_TOPICS(world->kafka, WORLD_PARTITIONS, "t.commands", "t.events", "t.alerts",
                "t.dead-letters");
    SITE_TOPICS(world->kafka, 1, "t.schemas", "t.workflows", "t.schedules", "t.agents");
    for (int32_t i = 0; i < WORLD_PARTITIONS; i++) {
        world->partitions[i].folded = admission_begin();
        world_claim(world, i, "scheduler-1");
    }
    return world;
}

void world_use_workflow(struct world *world, const char *source)
{
    static struct workflow_problems problems;
    bool compiled = workflow_parse(text_of(source), WORKFLOW_YAML, &world->workflow_heap.arena,
                                   &problems, &world->workflow);
    cr_assert(compiled, "line %u: %s", (unsigned)problems.items[0].line, problems.items[0].text);
}

void world_wipe(struct world *world)
{
    struct error error;
    cr_assert(world->console == NULL);
    files_remove_tree(world->folder, NULL);
    cr_assert(files_make_dirs(world->folder, &error) == ERROR_OK);
}

void world_free(struct world *world)
{
    if (world->console != NULL)
        world_close(world);
    files_remove_tree(world->folder, NULL);
    for (uint32_t i = 0; i < world->order_count; i++)
        heap_arena_deinit(&world->orders[i].heap);
    heap_arena_deinit(&world->heap);
    heap_arena_deinit(&world->workflow_heap);
    codec_free(world->codec);
    broker_memory_cluster_free(world->kafka);
    loop_free(world->loop);
    free(world);
}

/* This machine is a trusted proxy. */
static void open_access(struct world *world)
{
    static const char *const proxies[] = {"127.0.0.1"};
    struct error error;
    const struct http_access_options options = {.token_file = "",
                                                .group_file = world->groups_path,
                                                .proxies = proxies,
                                                .proxy_count = 1,
                                                .user_header = "X-User"};
    snprintf(world->groups_path, sizeof(world->groups_path), "%s/groups", world->folder);
    cr_assert(files_write_atomic(world->groups_path, text_of(world->groups), &error) == ERROR_OK);
    cr_assert(http_access_new(world->loop, NULL, &options, &world->access, &error) == ERROR_OK,
              "%s", error.message);
}

void world_open_unready(struct world *world)
{
    struct error error;
    struct http_client_options client = {.close_idle = true, .response_max = 16 << 20};
    struct http_server_options server = {.port = 0};
    const char *settings[5] = {NULL};
    size_t count = 0;
    if (world->services != NULL) {
        settings[count++] = "console.services";
        settings[count++] = world->services;
    }
    if (world->services_token != NULL) {
        settings[count++] = "console.services.token";
        settings[count++] = world->services_token;
    }
    cr_assert(world->console == NULL);
    world->service = (struct service_context){.name = "console",
                                              .instance_id = "console-1",
                                              .data_dir = world->folder,
                                              .clock = &world->clock,
                                              .loop = world->loop};
    simulated_service_open(&world->service, "t", settings);
    server.metrics = world->service.metrics;
    if (world->groups != NULL)
        open_access(world);
    server.access = world->access;
    cr_assert(http_server_new(world->loop, &server, &world->service.http, &error) == ERROR_OK);
    cr_assert(http_client_new(world->loop, &client, &world->client, &error) == ERROR_OK);
    world->broker = broker_memory_new(world->kafka, "console-1");
    cr_assert(console_new(&world->service, world->broker, &world->console, &error) == ERROR_OK,
              "%s", error.message);
}

void world_open(struct world *world)
{
    char reason[512];
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    world_open_unready(world);
    while (!console_is_ready(world->console, reason, sizeof(reason))) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "%s", reason);
        world_turn(world);
    }
}

void world_close(struct world *world)
{
    console_free(world->console);
    http_client_free(world->client);
    http_server_free(world->service.http);
    http_access_free(world->access);
    world->access = NULL;
    world->service.loop = NULL; /* the world's */
    simulated_service_close(&world->service);
    world->console = NULL;
}

/* ---- the log ---- */

int32_t world_partition(const char *order_id)
{
    return broker_partition_of(text_of(order_id), WORLD_PARTITIONS);
}

static int64_t append(struct world *world, const char *topic, int32_t partition, struct text key,
                      enum record_kind kind, const void *record)
{
    return site_append(world->kafka, world->codec, topic, partition, key, kind, record);
}

int64_t world_send(struct world *world, const struct command *cmd)
{
    return site_append_command(world->kafka, world->codec, "t.commands", WORLD_PARTITIONS, cmd);
}

void world_submit(struct world *world, const char *order_id, const char *workflow)
{
    world_submit_details(world, order_id, workflow, TEXT("17850"), NULL, 0);
}

void world_submit_details(struct world *world, const char *order_id, const char *workflow,
                          struct text customer, struct attribute *attributes, uint32_t count)
{
    struct order_line lines[] = {{TEXT("85123A"), TEXT("HEART \"T-LIGHT\""), 6, {25500}}};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(order_id)};
    cmd.submit_order = (struct order_details){.order_id = cmd.order_id,
                                              .customer = customer,
                                              .goods = &(struct goods){TEXT("GBP"), lines, 1},
                                              .attributes = attributes,
                                              .attribute_count = count,
                                              .priority = PRIORITY_NORMAL,
                                              .workflow = text_of(workflow),
                                              .input = TEXT("{\"amount\":100.1}")};
    world_send(world, &cmd);
}

void world_report(struct world *world, const char *order_id, const char *step, bool succeeded)
{
    const struct order *order = world_order(world, order_id);
    cr_assert(order != NULL);
    int index = order_find_step(order, text_of(step));
    cr_assert_geq(index, 0);
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(order_id)};
    cmd.report_step = (struct report_step){.order_id = cmd.order_id,
                                           .step = text_of(step),
                                           .direction = order->steps[index].direction,
                                           .attempt = order->steps[index].attempt,
                                           .succeeded = succeeded,
                                           .agent = TEXT("agent"),
                                           .instance = TEXT("agent-1")};
    if (succeeded) {
        cmd.report_step.output = TEXT("{\"big\":12345678901234567890,\"ok\":0.1}");
    } else {
        cmd.report_step.error_name = TEXT("Declined");
        cmd.report_step.error_message = TEXT("no funds");
        cmd.report_step.effect = world->effect;
    }
    world_send(world, &cmd);
}

static struct world_order *find_order(struct world *world, struct text id)
{
    for (uint32_t i = 0; i < world->order_count; i++)
        if (text_equal(text_of(world->orders[i].id), id))
            return &world->orders[i];
    return NULL;
}

const struct order *world_order(struct world *world, const char *order_id)
{
    struct world_order *order = find_order(world, text_of(order_id));
    return order != NULL && order->order.version > 0 ? &order->order : NULL;
}

/* What orders tell each other, unless it is lost. */
static void send_messages(struct world *world, const struct decision *decision, int32_t partition)
{
    struct effects effects;
    struct world_order *order = find_order(world, decision->order_id);
    if (world->loses_messages)
        return;
    effects_of(decision, partition, order != NULL ? &order->order : NULL, &world->heap.arena,
               &effects);
    for (uint32_t i = 0; i < effects.message_count; i++) {
        struct command *cmd = &effects.messages[i].cmd;
        if (cmd->kind == COMMAND_SUBMIT_ORDER)
            cmd->submit_order.content_hash = details_content_hash(&cmd->submit_order);
        world_send(world, cmd);
    }
}

static void fold(struct world *world, const struct decision *decision)
{
    if (!decision_changes_order(decision))
        return;
    struct world_order *order = find_order(world, decision->order_id);
    if (order == NULL) {
        cr_assert_lt(world->order_count, WORLD_ORDERS_MAX);
        order = &world->orders[world->order_count++];
        memcpy(order->id, decision->order_id.data, decision->order_id.size);
        heap_arena_init(&order->heap, 2048);
    }
    order_apply_decision(&order->order, decision, &order->heap.arena);
}

/* As the scheduler reads it, who does not know the order of what it cannot decide. */
static struct command read_command(struct world *world, const struct broker_record *record)
{
    struct record decoded;
    site_decode(world->codec, record->value, &world->heap.arena, &decoded);
    if (world->kills == NULL)
        return decoded.command;
    return (struct command){.kind = COMMAND_UNDECODABLE,
                            .undecodable = {.bytes = record->value,
                                            .key = record->key,
                                            .reason = TEXT("it \"fails\""),
                                            .code = text_of(world->kills),
                                            .quarantined = true}};
}

static void schedule_one(struct world *world, int32_t partition, const struct broker_record *record)
{
    struct decision decision;
    heap_arena_reset(&world->heap);
    const struct command decoded = read_command(world, record);
    const struct command *cmd = &decoded;
    struct world_order *order = find_order(world, cmd->order_id);
    bool exists = order != NULL && order->order.version > 0;
    const struct workflow *file = world->workflow;
    if (exists && order->order.details.workflow_version != file->version)
        file = world->target;
    const struct text *name = exists ? &order->order.details.workflow : NULL;
    if (name == NULL && cmd->kind == COMMAND_SUBMIT_ORDER)
        name = &cmd->submit_order.workflow;
    const struct workflow *pinned = name != NULL ? workflow_find_in_file(file, *name) : file;
    const struct workflow *target = NULL;
    if (cmd->kind == COMMAND_MIGRATE_ORDER && world->target != NULL && name != NULL)
        target = workflow_find_in_file(world->target, *name);
    struct decide_input input = {.now = ++world->now,
                                 .margin_ms = 1000,
                                 .instance = TEXT("scheduler-1"),
                                 .workflow = pinned,
                                 .target = target,
                                 .command_offset = record->offset,
                                 .command_time = record->timestamp};
    engine_decide(exists ? &order->order : NULL, cmd, &input, &world->heap.arena, &decision);
    decision.claim_id = world->partitions[partition].claim_id;
    decision.sequence = world->partitions[partition].sequence++;
    append(world, "t.events", partition, decision.order_id, RECORD_DECISION, &decision);
    admission_decision(&world->partitions[partition].folded, &decision);
    fold(world, &decision);
    send_messages(world, &decision, partition);
}

static bool schedule_partition(struct world *world, int32_t partition)
{
    struct broker_record record;
    bool decided = false;
    int64_t *next = &world->partitions[partition].next_command;
    while (broker_memory_record(world->kafka, "t.commands", partition, *next, &record)) {
        schedule_one(world, partition, &record);
        ++*next;
        decided = true;
    }
    return decided;
}

void world_schedule(struct world *world)
{
    bool decided;
    do {
        decided = false;
        for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
            decided = schedule_partition(world, p) || decided;
    } while (decided);
}

void world_claim(struct world *world, int32_t partition, const char *instance)
{
    struct claim claim = {.instance = text_of(instance),
                          .claimed_at = ++world->now,
                          .partition_count = WORLD_PARTITIONS};
    claim.claim_id.bytes[0] = (uint8_t)(partition + 1);
    claim.claim_id.bytes[1] = ++world->partitions[partition].claims;
    world->partitions[partition].claim_id = claim.claim_id;
    world->partitions[partition].sequence = 0;
    world->partitions[partition].instance = instance;
    world->partitions[partition].claimed_at = claim.claimed_at;
    admission_claim(&world->partitions[partition].folded, &claim);
    append(world, "t.events", partition, TEXT(""), RECORD_CLAIM, &claim);
}

void world_reset(struct world *world, int32_t partition, int64_t offset)
{
    struct partition_reset reset = {.expected_offset = offset,
                                    .next_command_offset = -1,
                                    .by = TEXT("ann"),
                                    .reason = TEXT("another client wrote here"),
                                    .reset_at = ++world->now};
    append(world, "t.events", partition, TEXT("ann"), RECORD_RESET, &reset);
}

void world_skip(struct world *world, int32_t partition, int64_t from)
{
    int64_t high = site_end(world->kafka, "t.events", partition);
    struct partition_reset reset = {.expected_offset = high,
                                    .next_command_offset = -1,
                                    .has_skip = true,
                                    .skip = {from, high},
                                    .by = TEXT("ann"),
                                    .reason = TEXT("another client wrote here"),
                                    .reset_at = ++world->now};
    append(world, "t.events", partition, TEXT("ann"), RECORD_RESET, &reset);
}

static int64_t go_on(struct world *world, int32_t partition, int64_t trimmed)
{
    struct continuation continuation;
    admission_state(&world->partitions[partition].folded, &continuation);
    continuation.sequence = world->partitions[partition].sequence++;
    continuation.trimmed = trimmed;
    continuation.instance = text_of(world->partitions[partition].instance);
    continuation.claimed_at = world->partitions[partition].claimed_at;
    world->partitions[partition].folded.next_sequence++;
    return append(world, "t.events", partition, TEXT(""), RECORD_CONTINUATION, &continuation);
}

int64_t world_trim_begin(struct world *world, const char *order_id)
{
    return go_on(world, world_partition(order_id), -1);
}

int64_t world_trim(struct world *world, const char *order_id)
{
    int64_t start = world_trim_begin(world, order_id);
    world_trim_end(world, order_id, start);
    return start;
}

void world_trim_end(struct world *world, const char *order_id, int64_t start)
{
    int32_t partition = world_partition(order_id);
    struct statement statement = {.claim_id = world->partitions[partition].claim_id,
                                  .sequence = world->partitions[partition].sequence++,
                                  .format = STATE_FORMAT,
                                  .order = *world_order(world, order_id)};
    world->partitions[partition].folded.next_sequence++;
    append(world, "t.events", partition, text_of(order_id), RECORD_STATEMENT, &statement);
    go_on(world, partition, start);
    broker_memory_trim(world->kafka, "t.events", partition, start);
}

static bool leaves(const struct world_order *order, const struct expiry *expiry)
{
    if (order->order.version == 0 || !order_ended(&order->order))
        return false;
    return order->order.ended_at != expiry->ended_at
               ? order->order.ended_at < expiry->ended_at
               : text_compare(text_of(order->id), expiry->order_id) <= 0;
}

void world_expire(struct world *world, const char *order_id)
{
    int32_t partition = world_partition(order_id);
    struct expiry expiry = {.claim_id = world->partitions[partition].claim_id,
                            .sequence = world->partitions[partition].sequence++,
                            .decided_at = ++world->now,
                            .ended_at = world_order(world, order_id)->ended_at,
                            .order_id = text_of(order_id)};
    append(world, "t.events", partition, TEXT(""), RECORD_EXPIRY, &expiry);
    admission_expiry(&world->partitions[partition].folded, &expiry);
    for (uint32_t i = 0; i < world->order_count; i++)
        if (world_partition(world->orders[i].id) == partition && leaves(&world->orders[i], &expiry))
            world->orders[i].order = (struct order){0};
}

void world_alert(struct world *world, int32_t partition, bool raised, const char *code,
                 const char *message)
{
    struct operator_alert alert = {.raised = raised,
                                   .code = text_of(code),
                                   .message = text_of(message),
                                   .by = TEXT("scheduler-1"),
                                   .partition = partition,
                                   .command_offset = -1,
                                   .decided_at = ++world->now};
    append(world, "t.alerts", partition < 0 ? 0 : partition, TEXT(""), RECORD_OPERATOR_ALERT,
           &alert);
}

/* ---- the console ---- */

void world_turn(struct world *world)
{
    broker_memory_settle(world->kafka, STEPS_MAX);
    loop_once(world->loop, 1);
}

static bool is_behind(const struct world *world)
{
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        struct view *view = console_partition_view(world->console->api.partitions[p]);
        if (view_checkpoint(view)->next_event_offset < site_end(world->kafka, "t.events", p))
            return true;
    }
    return false;
}

void world_settle(struct world *world)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (is_behind(world)) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "the log is not folded");
        world_turn(world);
    }
}

void world_advance(struct world *world, int64_t ms)
{
    world->offset_ms += ms;
    for (int i = 0; i < 10; i++)
        world_turn(world);
}

static void on_result(const struct http_result *result, void *userdata)
{
    struct world *world = userdata;
    json_error_t why;
    cr_assert(result->outcome == HTTP_ANSWERED, "%s", result->message);
    world->answered = true;
    world->status = result->status;
    world->json = json_tree_load(result->body, JSON_ALLOW_NUL, &why);
    cr_assert(world->json != NULL, "%s: %.*s", why.text, TEXT_ARG(result->body));
}

void world_ask(struct world *world, const char *path, const char *body)
{
    char url[16384];
    char header[128];
    struct error error;
    const char *const headers[] = {header, NULL};
    snprintf(header, sizeof(header), "X-User: %s", world->user != NULL ? world->user : "");
    snprintf(url, sizeof(url), "%s%s", http_server_url(world->service.http), path);
    struct http_request request = {.method = body == NULL ? "GET" : "POST",
                                   .url = url,
                                   .headers = world->user != NULL ? headers : NULL,
                                   .body = text_of(body),
                                   .timeout_ms = INT64_C(10) * 60 * 1000};
    world->answered = false;
    cr_assert(http_client_send(world->client, &request, on_result, world, &error) == ERROR_OK);
}

json_t *world_answer(struct world *world, int status)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (!world->answered) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "no answer");
        world_turn(world);
        if (world->schedules)
            world_schedule(world);
    }
    if (world->status != status) {
        char *text = json_tree_print(world->json, 0);
        cr_assert_fail("status %d: %s", world->status, text);
    }
    json_t *json = world->json;
    world->json = NULL;
    return json;
}

json_t *world_get(struct world *world, int status, const char *path)
{
    world_ask(world, path, NULL);
    return world_answer(world, status);
}

json_t *world_post(struct world *world, int status, const char *path, const char *body)
{
    world_ask(world, path, body);
    return world_answer(world, status);
}

void world_refuses(struct world *world, int status, const char *code, const char *path,
                   const char *body, const char *part)
{
    world_ask(world, path, body);
    json_t *answer = world_answer(world, status);
    const char *given = world_text(answer, "code");
    const char *detail = world_text(answer, "detail");
    cr_assert_str_eq(given, code != NULL ? code : given, "%s %s: %s", path, body, detail);
    cr_assert_not_null(strstr(detail, part), "%s: \"%s\" is not in: %s", path, part, detail);
    cr_assert_null(strchr(detail, '\n'), "%s: %s", path, detail);
    json_decref(answer);
}
