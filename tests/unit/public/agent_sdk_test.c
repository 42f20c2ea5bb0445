/* SPDX-License-Identifier: Apache-2.0 */
/* Agents written with include/reeve/agent.h: the fields of a call, its outcomes, threads, and
 * failures of start(). */
#include "base/goods.h"
#include "replica/service/settings.h"
#include "services/agent/sdk/sdk.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <reeve/agent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FAR = 1 << 30 };

/* What start() builds. */
struct state {
    struct reeve_agent *agent;
    struct reeve_agent_call *call; /* the latest */
    struct reeve_agent_probe *probe;
    struct reeve_wakeup *wakeup;
    uint32_t extended;
};

static struct state *latest; /* NULL: stopped */
static enum reeve_agent_error start_error;

static bool start(struct reeve_agent *agent, void **ret_ctx)
{
    if (start_error != 0) {
        reeve_agent_fail(agent, start_error, "tax.rates: no such file");
        return false;
    }
    latest = calloc(1, sizeof(*latest));
    latest->agent = agent;
    *ret_ctx = latest;
    return true;
}

static void execute(void *ctx, struct reeve_agent_call *call)
{
    struct state *state = ctx;
    state->call = call;
}

static void extended(void *ctx, struct reeve_agent_call *call)
{
    struct state *state = ctx;
    cr_assert_eq(state->call, call);
    state->extended++;
}

static void probe(void *ctx, struct reeve_agent_probe *probe)
{
    struct state *state = ctx;
    state->probe = probe;
}

static void stop(void *ctx)
{
    cr_assert_eq(ctx, latest);
    reeve_wakeup_free(latest->wakeup);
    free(latest);
    latest = NULL;
}

static const struct reeve_agent_ops pay = {.name = "pay",
                                           .capacity = 7,
                                           .start = start,
                                           .execute = execute,
                                           .extended = extended,
                                           .probe = probe,
                                           .stop = stop};

static struct world *begin(const char *const settings[])
{
    struct world *world = world_new(1);
    world->ops = sdk_agent_ops(&pay);
    world->data_dir = "data";
    world_add(world, settings);
    world_rebalance(world);
    return world;
}

static void expect_text(struct reeve_text text, const char *expected)
{
    cr_assert(reeve_text_is(text, expected), "%.*s, not %s", (int)text.size, text.data, expected);
}

/* ---- what a call shows ---- */

Test(agent_sdk, shows_the_request_of_a_call)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", NULL});
    world_request(world, "A", DIRECTION_DO, 3, FAR);
    struct reeve_agent_call *call = latest->call;
    cr_assert_not_null(call);
    expect_text(reeve_agent_call_order_id(call), "A");
    expect_text(reeve_agent_call_step(call), "Pay");
    expect_text(reeve_agent_call_action(call), "Pay");
    expect_text(reeve_agent_call_idempotency_key(call), "A/Pay/do/0");
    expect_text(reeve_agent_call_do_key(call), "A/Pay/do/0");
    expect_text(reeve_agent_call_workflow(call), "w");
    expect_text(reeve_agent_call_customer(call), "c");
    expect_text(reeve_agent_call_currency(call), "GBP");
    cr_assert_null(reeve_agent_call_traceparent(call).data);
    cr_assert_eq(reeve_agent_call_attempt(call), 3);
    cr_assert_eq(reeve_agent_call_try_number(call), 1);
    cr_assert_eq(reeve_agent_call_complete_by(call), FAR);
    cr_assert_eq(reeve_agent_call_time_left_ms(call), FAR - clock_wall_ms(&world->clock.clock));
    cr_assert_null(reeve_agent_call_userdata(call));
    reeve_agent_call_set_userdata(call, world);
    cr_assert_eq(reeve_agent_call_userdata(call), world);
    cr_assert_eq(agent_capacity(world->instances[0].agent), 7);
    world_free(world);
    cr_assert_null(latest);
}

#define LITERAL(text)            \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* A call that no agent made. */
static struct reeve_agent_call *made_by_hand(void)
{
    static struct order_line lines[] = {{LITERAL("sku-1"), LITERAL("a cup"), 2, {42000}},
                                        {LITERAL("sku-2"), LITERAL(""), -1, {-5}}};
    static struct attribute attributes[] = {{LITERAL("country"), LITERAL("DE")},
                                            {LITERAL("note"), LITERAL("")}};
    static struct step_output outputs[] = {{LITERAL("Reserve"), LITERAL("{\"ok\":1}")}};
    static const struct goods goods = {.lines = lines, .line_count = 2};
    static struct order_details order = {.goods = &goods,
                                         .attributes = attributes,
                                         .attribute_count = 2,
                                         .traceparent = LITERAL("00-ab-cd-01")};
    static struct step_request request = {.order = &order, .outputs = outputs, .output_count = 1};
    static struct agent_call call = {.request = &request};
    return (struct reeve_agent_call *)&call;
}

Test(agent_sdk, shows_the_order_of_a_call)
{
    const struct reeve_agent_call *call = made_by_hand();
    char price[REEVE_PRICE_SIZE];
    expect_text(reeve_agent_call_traceparent(call), "00-ab-cd-01");
    cr_assert_eq(reeve_agent_call_line_count(call), 2);
    struct reeve_order_line line = reeve_agent_call_line(call, 0);
    expect_text(line.sku, "sku-1");
    expect_text(line.description, "a cup");
    cr_assert_eq(line.quantity, 2);
    cr_assert_eq(reeve_price_format(line.unit_price, price), 3);
    cr_assert_str_eq(price, "4.2");
    line = reeve_agent_call_line(call, 1);
    cr_assert_null(line.description.data);
    reeve_price_format(line.unit_price, price);
    cr_assert_str_eq(price, "-0.0005");
    cr_assert_eq(reeve_agent_call_attribute_count(call), 2);
    expect_text(reeve_agent_call_attribute_at(call, 0).name, "country");
    expect_text(reeve_agent_call_attribute_at(call, 0).value, "DE");
    expect_text(reeve_agent_call_attribute(call, "country"), "DE");
    cr_assert_not_null(reeve_agent_call_attribute(call, "note").data, "empty, but there");
    cr_assert_null(reeve_agent_call_attribute(call, "nothing").data);
    cr_assert_eq(reeve_agent_call_output_count(call), 1);
    expect_text(reeve_agent_call_output_at(call, 0).name, "Reserve");
    expect_text(reeve_agent_call_output(call, "Reserve"), "{\"ok\":1}");
    cr_assert_null(reeve_agent_call_output(call, "Pack").data);
}

/* A request with `input` has an order without it (engine/engine.h). */
Test(agent_sdk, shows_the_input_of_the_order_or_that_of_the_step)
{
    struct order_details order = {.input = LITERAL("{\"id\":12345678901234567890}")};
    struct step_request request = {.order = &order};
    struct agent_call made = {.request = &request};
    const struct reeve_agent_call *call = (const struct reeve_agent_call *)&made;
    expect_text(reeve_agent_call_order_input(call), "{\"id\":12345678901234567890}");
    cr_assert_null(reeve_agent_call_input(call).data);
    request.input = TEXT("{\"total\":100.1}");
    order.input = (struct text){0};
    expect_text(reeve_agent_call_input(call), "{\"total\":100.1}");
    cr_assert_null(reeve_agent_call_order_input(call).data);
    cr_assert_eq(reeve_agent_call_order_input(call).size, 0);
}

Test(agent_sdk, refuses_an_index_past_the_last_line, .signal = SIGABRT)
{
    reeve_agent_call_line(made_by_hand(), 2);
}

Test(agent_sdk, formats_the_largest_price)
{
    char price[REEVE_PRICE_SIZE];
    cr_assert_eq(reeve_price_format(-DECIMAL_UNSCALED_MAX, price), strlen(price));
    cr_assert_str_eq(price, "-99999999999999.9999");
}

/* ---- how it is finished ---- */

Test(agent_sdk, reports_successes_failures_and_impossible_undos)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", NULL});
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    reeve_agent_call_succeed(latest->call, "{\"tax\":\"4.20\"}");
    world_settle(world);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {\"tax\":\"4.20\"}\n");
    world_request(world, "A", DIRECTION_DO, 2, FAR);
    reeve_agent_call_fail(latest->call, &(struct reeve_agent_failure){.name = "Oops"});
    world_settle(world);
    world_request(world, "A", DIRECTION_DO, 3, FAR);
    reeve_agent_call_fail(latest->call, &(struct reeve_agent_failure){
                                            .name = "no name", .effect = REEVE_EFFECT_APPLIED});
    world_settle(world);
    world_request(world, "A", DIRECTION_UNDO, 1, FAR);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {\"tax\":\"4.20\"}\n"
                                           "A/Pay/do/2 Oops unknown\n"
                                           "A/Pay/do/3 Agent.Error applied\n"
                                           "A/Pay/undo/1 Agent.NoCompensate none\n");
    world_free(world);
}

Test(agent_sdk, repeats_a_retriable_failure_after_the_time_it_names)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", NULL});
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    reeve_agent_call_fail(latest->call, &(struct reeve_agent_failure){.effect = REEVE_EFFECT_NONE,
                                                                      .retriable = true,
                                                                      .retry_after_ms = 60000});
    latest->call = NULL;
    world_advance(world, 59000);
    cr_assert_null(latest->call);
    world_advance(world, 1001);
    cr_assert_eq(reeve_agent_call_try_number(latest->call), 2);
    world_free(world);
}

Test(agent_sdk, requests_more_time_and_receives_the_grant)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", NULL});
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    reeve_agent_call_extend(latest->call, 5000, "half of it");
    world_settle(world);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 more@1005000 half of it none\n");
    world->decision_offset = 50;
    world->order_version = 2;
    world->extension = true;
    world_request(world, "A", DIRECTION_DO, 1, FAR + 5000); /* as the scheduler grants it */
    cr_assert_eq(latest->extended, 1);
    cr_assert_eq(reeve_agent_call_complete_by(latest->call), FAR + 5000);
    world_free(world);
}

Test(agent_sdk, opens_the_circuit_when_the_service_is_unhealthy_and_probes_it)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", "agent.circuit.errors.min",
                                                 "1", "agent.circuit.open.ms", "2000", NULL});
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    reeve_agent_call_fail(latest->call, &(struct reeve_agent_failure){.message = "refused",
                                                                      .effect = REEVE_EFFECT_NONE,
                                                                      .service_unhealthy = true});
    world_settle(world);
    cr_assert_null(latest->probe);
    world_advance(world, 5000);
    cr_assert_not_null(latest->probe);
    reeve_agent_probe_end(latest->probe, true, NULL);
    world_rebalance(world);
    world_request(world, "B", DIRECTION_DO, 1, FAR);
    expect_text(reeve_agent_call_order_id(latest->call), "B");
    world_free(world);
}

Test(agent_sdk, truncates_the_callback_url_to_the_buffer)
{
    struct world *world = world_new(1);
    char url[512], cut[10], none[1] = "x";
    world->ops = sdk_agent_ops(&pay);
    world->serves_http = true;
    world_add(world, (const char *[]){"agent.memory.mb", "0", "agent.callback.url",
                                      "http://pay.example", NULL});
    world_rebalance(world);
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    size_t length = reeve_agent_call_callback_url(latest->call, url, sizeof(url));
    cr_assert_str_eq(url, "http://pay.example/v1/callbacks/pay/A/Pay/do/1");
    cr_assert_eq(length, strlen(url));
    cr_assert_eq(reeve_agent_call_callback_url(latest->call, cut, sizeof(cut)), length);
    cr_assert_str_eq(cut, "http://pa");
    cr_assert_eq(reeve_agent_call_callback_url(latest->call, none, sizeof(none)), length);
    cr_assert_eq(none[0], '\0');
    reeve_agent_call_accept(latest->call);
    world_settle(world);
    cr_assert_str_eq(world_reports(world), "");
    world_free(world);
}

/* ---- the process ---- */

Test(agent_sdk, reads_the_configuration_of_an_agent)
{
    struct world *world =
        begin((const char *[]){"agent.memory.mb", "0", "agent.http.url", "http://x", NULL});
    cr_assert_str_eq(reeve_agent_config(latest->agent, "agent.http.url"), "http://x");
    cr_assert_str_eq(reeve_agent_config(latest->agent, "agent.in.flight.max"), "1000");
    cr_assert_null(reeve_agent_config(latest->agent, "tax.rates"));
    cr_assert_str_eq(reeve_agent_name(latest->agent), "pay");
    cr_assert_str_eq(reeve_agent_data_dir(latest->agent), "data");
    world_free(world);
}

Test(agent_sdk, supports_configuration_keys_of_an_agent)
{
    static const struct reeve_agent_key keys[] = {
        {.name = "tax.rates", .fallback = "/etc/rates", .doc = "A file of rates."},
        {.name = "agent.token", .doc = "For the service.", .secret = true}};
    static const struct reeve_agent_ops ops = {.execute = execute, .keys = keys, .key_count = 2};
    struct config_schema schema = sdk_config_schema(&ops);
    struct config *config = config_new(&schema);
    struct error error;
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    cr_assert_str_eq(config_text(config, "tax.rates"), "/etc/rates");
    cr_assert_eq(config_set(config, "tax.rates", "/tmp/rates", &error), ERROR_OK);
    cr_assert_eq(config_set(config, "agent.token", "t0", &error), ERROR_OK);
    cr_assert_eq(config_set(config, "agent.pay.token", "t1", &error), ERROR_OK);
    cr_assert_eq(config_finish(config, &error), ERROR_OK);
    struct config *scoped = config_scoped(config, "pay");
    cr_assert_str_eq(config_text(config, "tax.rates"), "/tmp/rates");
    cr_assert_str_eq(config_text(config, "agent.token"), "t0");
    cr_assert_str_eq(config_text(scoped, "agent.token"), "t1");
    config_show(config, out, SETTINGS_AGENT);
    fclose(out);
    cr_assert_not_null(strstr(shown, "/tmp/rates"));
    cr_assert_null(strstr(shown, "t0"));
    free(shown);
    config_free(scoped);
    config_free(config);
    free((void *)schema.keys);
}

static void *send_wakeup(void *argument)
{
    reeve_wakeup_send(argument);
    return NULL;
}

static void finish(void *ctx)
{
    struct state *state = ctx;
    reeve_agent_call_succeed(state->call, NULL);
}

Test(agent_sdk, finishes_a_call_that_a_thread_completes)
{
    struct world *world = begin((const char *[]){"agent.memory.mb", "0", NULL});
    pthread_t thread;
    world_request(world, "A", DIRECTION_DO, 1, FAR);
    latest->wakeup = reeve_wakeup_new(latest->agent, finish, latest);
    cr_assert_not_null(latest->wakeup);
    cr_assert_eq(pthread_create(&thread, NULL, send_wakeup, latest->wakeup), 0);
    pthread_join(thread, NULL);
    world_settle(world);
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok \n");
    world_free(world);
}

/* The error that ends a process whose start() fails so. */
static struct error start_fails(const struct reeve_agent_ops *ops)
{
    struct error error = {0};
    void *ctx = NULL;
    cr_assert_neq(sdk_agent_ops(ops)->start(NULL, &ctx, &error), ERROR_OK);
    cr_assert_null(ctx);
    return error;
}

Test(agent_sdk, exits_with_the_code_that_a_failed_start_names)
{
    static const enum reeve_agent_error errors[] = {REEVE_AGENT_UNAVAILABLE, REEVE_AGENT_FATAL,
                                                    REEVE_AGENT_CONFIG};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        start_error = errors[i];
        struct error error = start_fails(&pay);
        cr_assert_str_eq(error.message, "tax.rates: no such file");
        cr_assert_eq(exit_code_of(&error), (int)errors[i]);
    }
}

static bool start_without_a_reason(struct reeve_agent *agent, void **ret_ctx)
{
    (void)agent;
    (void)ret_ctx;
    return false;
}

Test(agent_sdk, treats_a_failed_start_without_a_reason_as_fatal)
{
    static const struct reeve_agent_ops ops = {.start = start_without_a_reason, .execute = execute};
    struct error error = start_fails(&ops);
    cr_assert_eq(exit_code_of(&error), EXIT_CODE_INTERNAL);
}
