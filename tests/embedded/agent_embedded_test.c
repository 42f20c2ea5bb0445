/* SPDX-License-Identifier: Apache-2.0 */
/* Agents on the embedded broker and real sockets: an HTTP service in this process answers in every
 * way that services do, and the reports of the agent are read back from the commands. */
#include "base/goods.h"
#include "kafka/embedded/embedded.h"
#include "platform/logger.h"
#include "replica/service/settings.h"
#include "services/agent/core/core.h"
#include "services/agent/kinds/kinds.h"
#include "tests/embedded/agent_topics.h"
#include "tests/lib/http_route.h"
#include "tests/lib/ledger_agent.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PARTITIONS = 3, WAIT_MS = 20000, REPORTS_MAX = 4096, EXCHANGES_MAX = 1024 };

struct got {
    char id[64]; /* order/step/direction/attempt */
    bool succeeded;
    char output[256];
    char error[65];
    enum effect effect;
};

struct lab {
    struct loop *loop;
    struct embedded *embedded;
    struct broker *client; /* the test's own */
    struct broker_reader *readers[PARTITIONS];
    struct codec *codec;
    struct heap_arena arena;
    struct service_context service;
    struct agent *agent;
    struct got reports[REPORTS_MAX];
    uint32_t report_count;
    uint32_t sent, acked;
    bool drained;
    /* the remote service */
    struct http_server *server;
    uint32_t posts;
    struct http_exchange *held[EXCHANGES_MAX];
    uint32_t held_count;
    char last_headers[512];
};

/* ---- the remote service: the first letters of the order's id choose its answer ---- */

static bool is(const char *order, const char *kind)
{
    return strncmp(order, kind, strlen(kind)) == 0;
}

static void on_post(struct http_exchange *exchange, void *userdata)
{
    struct lab *lab = userdata;
    struct text body = http_body(exchange);
    json_t *call = json_loadb(body.data, body.size, 0, NULL);
    cr_assert_not_null(call);
    const char *order = json_string_value(json_object_get(call, "order_id"));
    const char *key = http_header(exchange, "Idempotency-Key");
    cr_assert_str_eq(json_string_value(json_object_get(call, "idempotency_key")), key);
    snprintf(lab->last_headers, sizeof(lab->last_headers), "%s %s %s", http_path(exchange), key,
             http_header(exchange, "Reeve-Attempt"));
    lab->posts++;
    if (is(order, "declined"))
        http_respond(exchange, 422, "application/json",
                     TEXT("{\"error\": \"PaymentDeclined\", \"message\": \"no funds\"}"));
    else if (is(order, "busy") && lab->posts < 3)
        http_respond_error(exchange, 503, CODE_BUSY, "later");
    else if (is(order, "broken"))
        http_respond_error(exchange, 500, CODE_BUSY, "always");
    else if (is(order, "late") || is(order, "never"))
        lab->held[lab->held_count++] = exchange;
    else
        http_respond(exchange, 200, "application/json", TEXT("{ \"payment\" : \"P1\" }"));
    json_decref(call);
}

/* ---- the lab ---- */

static void on_report(void *ctx, const struct broker_record *record)
{
    struct lab *lab = ctx;
    struct record decoded;
    struct error error;
    heap_arena_reset(&lab->arena);
    cr_assert(codec_decode(lab->codec, record->value, true, &lab->arena.arena, &decoded, &error) ==
                  ERROR_OK,
              "%s", error.message);
    const struct report_step *report = &decoded.command.report_step;
    cr_assert_lt(lab->report_count, REPORTS_MAX);
    struct got *got = &lab->reports[lab->report_count++];
    snprintf(got->id, sizeof(got->id), "%.*s/%.*s/%s/%u", TEXT_ARG(report->order_id),
             TEXT_ARG(report->step), direction_name(report->direction), report->attempt);
    snprintf(got->output, sizeof(got->output), "%.*s", TEXT_ARG(report->output));
    snprintf(got->error, sizeof(got->error), "%.*s", TEXT_ARG(report->error_name));
    got->succeeded = report->succeeded;
    got->effect = report->effect;
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    (void)ctx;
    cr_assert_neq(error->class, ERROR_FATAL, "%s", error->message);
}

static const struct broker_reader_ops reader_ops = {on_report, on_end, on_error};

static void open_broker(struct lab *lab)
{
    struct error error;
    cr_assert(embedded_new(&(struct embedded_options){0}, &lab->embedded, &error) == ERROR_OK, "%s",
              error.message);
    make_agent_topics(lab->embedded, PARTITIONS);
    struct kafka_client_options options = {.bootstrap_servers = embedded_bootstrap(lab->embedded)};
    cr_assert(kafka_client_new(lab->loop, &options, &lab->client, &error) == ERROR_OK, "%s",
              error.message);
    for (int32_t i = 0; i < PARTITIONS; i++)
        lab->readers[i] =
            broker_read(lab->client, "t.commands", i, BROKER_EARLIEST, &reader_ops, lab);
}

static void set(struct lab *lab, const char *key, const char *value)
{
    struct error error;
    cr_assert(config_set(lab->service.config, key, value, &error) == ERROR_OK, "%s", error.message);
}

static struct lab *lab_open(void)
{
    static struct lab lab;
    struct error error;
    log_set_level(LOG_LEVEL_ERROR);
    cr_assert(loop_new(clock_real(), &lab.loop, &error) == ERROR_OK);
    lab.codec = codec_new();
    heap_arena_init(&lab.arena, 1 << 16);
    open_broker(&lab);
    struct http_server_options options = {.port = 0};
    cr_assert(http_server_new(lab.loop, &options, &lab.server, &error) == ERROR_OK);
    add_route(lab.server, "POST", "/svc/{action}", HTTP_OPEN, 0, on_post, &lab);
    lab.service = (struct service_context){.name = "agent",
                                           .instance_id = "a1",
                                           .clock = clock_real(),
                                           .config = config_new(&settings_schema),
                                           .loop = lab.loop,
                                           .metrics = metrics_new()};
    char url[128];
    snprintf(url, sizeof(url), "%s/svc/", http_server_url(lab.server));
    set(&lab, "topics.prefix", "t");
    set(&lab, "kafka.bootstrap.servers", embedded_bootstrap(lab.embedded));
    set(&lab, "agent.name", "pay");
    set(&lab, "agent.http.url", url);
    set(&lab, "agent.retry.backoff.ms", "20");
    set(&lab, "session.timeout.ms", "4000");
    return &lab;
}

static void lab_start(struct lab *lab, const struct agent_ops *ops)
{
    struct error error;
    cr_assert(config_finish(lab->service.config, &error) == ERROR_OK, "%s", error.message);
    cr_assert(agent_new(&lab->service, ops, NULL, &lab->agent, &error) == ERROR_OK, "%s",
              error.message);
}

static void note_drained(void *ctx)
{
    ((struct lab *)ctx)->drained = true;
}

static bool is_drained(void *ctx)
{
    return ((struct lab *)ctx)->drained;
}

static void lab_close(struct lab *lab)
{
    agent_drain(lab->agent, note_drained, lab);
    cr_assert(loop_run_until(lab->loop, is_drained, lab, WAIT_MS), "drained");
    agent_free(lab->agent);
    for (int i = 0; i < PARTITIONS; i++)
        broker_reader_close(lab->readers[i]);
    broker_free(lab->client);
    for (uint32_t i = 0; i < lab->held_count; i++)
        http_respond_error(lab->held[i], 500, CODE_SHUTTING_DOWN, "the test is over");
    http_server_free(lab->server);
    metrics_free(lab->service.metrics);
    config_free(lab->service.config);
    codec_free(lab->codec);
    heap_arena_deinit(&lab->arena);
    embedded_free(lab->embedded);
    loop_free(lab->loop);
}

/* ---- requests and waiting ---- */

static void on_acked(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct lab *lab = ctx;
    (void)token;
    (void)offset;
    cr_assert(!error_is(error), "%s", error->message);
    lab->acked++;
}

static void request(struct lab *lab, const char *order, enum direction direction, uint32_t attempt,
                    int64_t timeout_ms)
{
    static struct buffer bytes;
    char key[200], do_key[200];
    struct error error;
    struct order_details details = {.order_id = text_of(order),
                                    .customer = TEXT("c"),
                                    .goods = &(struct goods){.currency = TEXT("GBP")},
                                    .workflow = TEXT("w"),
                                    .workflow_version = 1};
    snprintf(key, sizeof(key), "%s/Pay/%s/0", order, direction_name(direction));
    snprintf(do_key, sizeof(do_key), "%s/Pay/do/0", order);
    struct step_request step_request = {
        .order_id = text_of(order),
        .ref = {TEXT("Pay"), direction, attempt},
        .agent = TEXT("pay"),
        .action = direction == DIRECTION_DO ? TEXT("TakePayment") : TEXT("RefundPayment"),
        .idempotency_key = text_of(key),
        .do_key = text_of(do_key),
        .complete_by = clock_wall_ms(clock_real()) + timeout_ms,
        .order = &details,
        .decision_offset = attempt + (direction == DIRECTION_UNDO) * 1000,
        .order_version = 1,
    };
    bytes.size = 0;
    codec_encode(lab->codec, RECORD_STEP_REQUEST, &step_request, &bytes);
    struct broker_append append = {
        .producer = BROKER_PRODUCER_LOG,
        .topic = "t.requests.pay",
        .partition = broker_partition_of(text_of(order), PARTITIONS),
        .key = text_of(order),
        .value = {(const char *)bytes.data, (uint32_t)bytes.size},
        .done = on_acked,
        .ctx = lab,
    };
    cr_assert(broker_append(lab->client, &append, &error) == ERROR_OK, "%s", error.message);
    lab->sent++;
}

struct wish {
    const struct lab *lab;
    const uint32_t *counter;
    uint32_t at_least;
};

static bool is_fulfilled(void *ctx)
{
    const struct wish *wish = ctx;
    return *wish->counter >= wish->at_least;
}

static void await(struct lab *lab, const uint32_t *counter, uint32_t at_least)
{
    struct wish wish = {lab, counter, at_least};
    cr_assert(loop_run_until(lab->loop, is_fulfilled, &wish, WAIT_MS), "%u of %u", *counter,
              at_least);
}

static const struct got *report_of(struct lab *lab, const char *id)
{
    for (uint32_t i = 0; i < lab->report_count; i++)
        if (strcmp(lab->reports[i].id, id) == 0)
            return &lab->reports[i];
    cr_assert_fail("no report of %s", id);
    return NULL;
}

/* ---- HTTP ---- */

Test(agent_embedded, turns_http_outcomes_into_reports)
{
    struct lab *lab = lab_open();
    lab_start(lab, &http_agent_ops);
    request(lab, "busy", DIRECTION_DO, 1, WAIT_MS);
    await(lab, &lab->report_count, 1);
    cr_assert_eq(lab->posts, 3, "two 503 and then it worked");
    request(lab, "fine", DIRECTION_DO, 1, WAIT_MS);
    request(lab, "declined", DIRECTION_DO, 1, WAIT_MS);
    request(lab, "broken", DIRECTION_DO, 1, 300);
    await(lab, &lab->report_count, 4);
    cr_assert_str_eq(report_of(lab, "busy/Pay/do/1")->output, "{\"payment\":\"P1\"}");
    cr_assert(report_of(lab, "fine/Pay/do/1")->succeeded);
    const struct got *got = report_of(lab, "declined/Pay/do/1");
    cr_assert(!got->succeeded && got->effect == EFFECT_NONE);
    cr_assert_str_eq(got->error, "PaymentDeclined");
    got = report_of(lab, "broken/Pay/do/1");
    cr_assert(!got->succeeded && got->effect == EFFECT_UNKNOWN);
    cr_assert_str_eq(got->error, "Http.500");
    cr_assert_geq(lab->posts, 3 + 2 + 3, "it was tried several times");
    request(lab, "fine", DIRECTION_UNDO, 2, WAIT_MS);
    await(lab, &lab->report_count, 5);
    cr_assert_str_eq(lab->last_headers, "/svc/RefundPayment fine/Pay/undo/0 2");
    lab_close(lab);
}

Test(agent_embedded, reports_late_successes_and_no_late_failures)
{
    struct lab *lab = lab_open();
    lab_start(lab, &http_agent_ops);
    request(lab, "warm", DIRECTION_DO, 1, WAIT_MS);
    await(lab, &lab->report_count, 1);
    int64_t begun = clock_mono_ms(clock_real());
    request(lab, "never", DIRECTION_DO, 1, 300);
    request(lab, "late", DIRECTION_DO, 1, 300);
    await(lab, &lab->held_count, 2);
    uint32_t silent = 0;
    while (clock_mono_ms(clock_real()) < begun + 500) /* 300 and a part of the margin */
        loop_once(lab->loop, 10);
    for (uint32_t i = 0; i < 2; i++) {
        struct text body = http_body(lab->held[i]);
        if (memmem(body.data, body.size, "late", 4) == NULL)
            continue;
        http_respond(lab->held[i], 200, "application/json", TEXT("{}"));
        lab->held[i] = lab->held[1 - i];
        silent++;
    }
    lab->held_count = 1;
    cr_assert_eq(silent, 1);
    await(lab, &lab->report_count, 2);
    cr_assert(report_of(lab, "late/Pay/do/1")->succeeded);
    lab_close(lab); /* waits for the end of the call that is never answered */
    cr_assert_eq(lab->report_count, 2);
}

Test(agent_embedded, retries_while_the_service_is_down)
{
    struct lab *lab = lab_open();
    set(lab, "agent.http.url", "http://127.0.0.1:1/svc");
    lab_start(lab, &http_agent_ops);
    request(lab, "order", DIRECTION_DO, 1, 8000);
    request(lab, "order2", DIRECTION_UNDO, 1, 8000);
    await(lab, &lab->report_count, 2);
    const struct got *got = report_of(lab, "order/Pay/do/1");
    cr_assert(!got->succeeded && got->effect == EFFECT_NONE);
    cr_assert_str_eq(got->error, "Http.NotConnected");
    lab_close(lab);
}

Test(agent_embedded, handles_hundreds_of_calls_in_flight)
{
    enum { CALLS = 450 }; /* connections that the server of the test allows */
    struct lab *lab = lab_open();
    char order[32];
    set(lab, "agent.in.flight.max", "1000");
    lab_start(lab, &http_agent_ops);
    for (int i = 0; i < CALLS; i++) {
        snprintf(order, sizeof(order), "late%d", i);
        request(lab, order, DIRECTION_DO, 1, WAIT_MS);
    }
    await(lab, &lab->held_count, CALLS);
    for (uint32_t i = 0; i < CALLS; i++)
        http_respond(lab->held[i], 200, "application/json", TEXT("{}"));
    lab->held_count = 0;
    await(lab, &lab->report_count, CALLS);
    for (uint32_t i = 0; i < CALLS; i++)
        cr_assert(lab->reports[i].succeeded);
    lab_close(lab);
}

/* ---- simulated ---- */

enum { SIM_CALLS = 2000 };

/* How many calls succeeded, of a fifth that is refused and a tenth whose outcome is unknown. */
static uint32_t simulate(struct lab *lab, const struct agent_ops *ops, uint32_t *ret_unknown)
{
    char order[32];
    uint32_t refused = 0, unknown = 0, succeeded = 0;
    set(lab, "agent.sim.latency.ms", "exp:3");
    set(lab, "agent.sim.fail.share", "0.2");
    set(lab, "agent.sim.unknown.share", "0.1");
    lab_start(lab, ops);
    for (int i = 0; i < SIM_CALLS; i++) {
        snprintf(order, sizeof(order), "o%d", i);
        request(lab, order, DIRECTION_DO, 1, WAIT_MS);
    }
    await(lab, &lab->report_count, SIM_CALLS);
    for (uint32_t i = 0; i < SIM_CALLS; i++) {
        succeeded += lab->reports[i].succeeded;
        refused += strcmp(lab->reports[i].error, "Sim.Refused") == 0;
        unknown += strcmp(lab->reports[i].error, "Sim.Unknown") == 0;
    }
    cr_assert_eq(succeeded + refused + unknown, SIM_CALLS);
    cr_assert(refused > SIM_CALLS / 7 && refused < SIM_CALLS / 4, "%u", refused);
    *ret_unknown = unknown;
    return succeeded;
}

Test(agent_embedded, answers_simulated_calls_as_planned)
{
    struct lab *lab = lab_open();
    uint32_t unknown;
    simulate(lab, &sim_agent_ops, &unknown);
    cr_assert(unknown > SIM_CALLS / 14 && unknown < SIM_CALLS / 7, "%u", unknown);
    lab_close(lab);
}

Test(agent_embedded, writes_the_calls_of_tests_to_a_ledger)
{
    struct lab *lab = lab_open();
    char ledger[64], line[512];
    uint32_t unknown, applied = 0, lines = 0;
    snprintf(ledger, sizeof(ledger), "/tmp/reeve-agent-%d.jsonl", (int)getpid());
    setenv("REEVE_TEST_LEDGER", ledger, 1);
    uint32_t succeeded = simulate(lab, &ledger_agent_ops, &unknown);
    FILE *file = fopen(ledger, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        lines++;
        applied += strstr(line, "\"applied\":true") != NULL;
    }
    fclose(file);
    unlink(ledger);
    cr_assert_eq(lines, SIM_CALLS);
    cr_assert(applied >= succeeded && applied <= succeeded + unknown);
    lab_close(lab);
}

Test(agent_embedded, reports_nothing_for_calls_without_an_answer)
{
    struct lab *lab = lab_open();
    set(lab, "agent.sim.latency.ms", "0");
    set(lab, "agent.sim.silent.share", "1");
    lab_start(lab, &sim_agent_ops);
    request(lab, "o1", DIRECTION_DO, 1, 8000);
    const struct attempts_counts *counts = attempts_counts(agent_attempts(lab->agent));
    while (counts->tries == 0)
        loop_once(lab->loop, 100);
    lab_close(lab); /* drains: waits for the end of the silent call */
    cr_assert_eq(lab->report_count, 0);
}
