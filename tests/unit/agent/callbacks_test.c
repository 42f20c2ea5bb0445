/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed, authorized callbacks reach the log; others are rejected with a reason. */
#include "platform/http/client.h"
#include "services/agent/core/callbacks.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* ---- bodies and tokens ---- */

static struct arena *arena(void)
{
    static struct arena arena;
    static uint8_t memory[64 * 1024];
    arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

static enum error_class parse(const char *body, struct agent_callback_body *ret_said)
{
    struct error error;
    return agent_callback_parse(text_of(body), arena(), ret_said, &error);
}

Test(callbacks, parses_bodies)
{
    struct agent_callback_body said;
    cr_assert(parse("{\"outcome\":\"done\",\"output\":{\"a\": [1, null]}}", &said) == ERROR_OK);
    cr_assert(said.outcome == AGENT_CALLBACK_DONE &&
              text_equal(said.output, TEXT("{\"a\":[1,null]}")));
    cr_assert(parse("{\"outcome\":\"done\",\"output\":[100.10,12345678901234567890]}", &said) ==
              ERROR_OK);
    cr_assert(text_equal(said.output, TEXT("[100.1,12345678901234567890]")));
    cr_assert(parse("{\"outcome\":\"done\"}", &said) == ERROR_OK);
    cr_assert_eq(said.output.size, 0);
    cr_assert(parse("{\"outcome\":\"failed\",\"error\":\"Card.Declined\",\"message\":\"no\\nway\","
                    "\"effect\":\"none\"}",
                    &said) == ERROR_OK);
    cr_assert(said.outcome == AGENT_CALLBACK_FAILED && said.effect == EFFECT_NONE);
    cr_assert(text_equal(said.error_name, TEXT("Card.Declined")));
    cr_assert(text_equal(said.error_message, TEXT("no way")));
    cr_assert(parse("{\"outcome\":\"failed\"}", &said) == ERROR_OK);
    cr_assert(said.effect == EFFECT_UNKNOWN, "the effect is unknown unless the body has it");
    cr_assert(parse("{\"outcome\":\"extend\",\"seconds\":1.5,\"progress\":\"half\"}", &said) ==
              ERROR_OK);
    cr_assert(said.outcome == AGENT_CALLBACK_EXTEND && said.extra_ms == 1500);
    cr_assert(text_equal(said.progress, TEXT("half")));
    cr_assert(parse("{\"outcome\":\"extend\",\"seconds\":0.10005}", &said) == ERROR_OK);
    cr_assert_eq(said.extra_ms, 100);
    cr_assert(parse("{\"outcome\":\"extend\",\"seconds\":1e3}", &said) == ERROR_OK);
    cr_assert_eq(said.extra_ms, 1000000);
}

Test(callbacks, refuses_malformed_bodies)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{",
        "{}",
        "{\"outcome\":1}",
        "{\"outcome\":\"perhaps\"}",
        "{\"outcome\":\"done\",\"outcome\":\"failed\"}",
        "{\"outcome\":\"done\",\"output\":\"\xff\"}",
        "{\"outcome\":\"failed\",\"error\":\"not a name\"}",
        "{\"outcome\":\"failed\",\"error\":\"States.Timeout\"}",
        "{\"outcome\":\"failed\",\"error\":1}",
        "{\"outcome\":\"failed\",\"message\":{}}",
        "{\"outcome\":\"failed\",\"effect\":\"perhaps\"}",
        "{\"outcome\":\"extend\"}",
        "{\"outcome\":\"extend\",\"seconds\":0}",
        "{\"outcome\":\"extend\",\"seconds\":0.0009}",
        "{\"outcome\":\"extend\",\"seconds\":-1}",
        "{\"outcome\":\"extend\",\"seconds\":1e30}",
        "{\"outcome\":\"extend\",\"seconds\":\"9\"}",
        "{\"outcome\":\"extend\",\"seconds\":1e300}",
        "{\"outcome\":\"extend\",\"seconds\":1,\"progress\":1}",
    };
    struct agent_callback_body said;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert(parse(bad[i], &said) == ERROR_REJECT, "%s", bad[i]);
}

Test(callbacks, derives_the_token_from_the_whole_id)
{
    char token[AGENT_CALLBACK_TOKEN_SIZE], other[AGENT_CALLBACK_TOKEN_SIZE];
    agent_callback_token(TEXT("key"), TEXT("pay"), TEXT("A"), TEXT("Pay"), DIRECTION_DO, 1, token);
    /* printf 'pay/A/Pay/do/1' | openssl dgst -sha256 -hmac key */
    cr_assert_str_eq(token, "a9b97cb32a3e00c2a9428c52e899a29db413a754cbeca5e3d6333fe724d62e69");
    agent_callback_token(TEXT("key"), TEXT("pay"), TEXT("A"), TEXT("Pay"), DIRECTION_DO, 2, other);
    cr_assert_str_neq(token, other);
    agent_callback_token(TEXT("kez"), TEXT("pay"), TEXT("A"), TEXT("Pay"), DIRECTION_DO, 1, other);
    cr_assert_str_neq(token, other);
}

/* ---- over HTTP ---- */

struct caller {
    struct world *world;
    struct instance *instance;
    struct http_client *client;
    int status; /* of the latest answer; 0 = none yet */
    char body[512];
};

static void on_answer(const struct http_result *result, void *userdata)
{
    struct caller *caller = userdata;
    cr_assert(result->outcome == HTTP_ANSWERED, "%s", result->message);
    caller->status = result->status;
    snprintf(caller->body, sizeof(caller->body), "%.*s", TEXT_ARG(result->body));
}

static struct caller *caller_new(const char *secret)
{
    static struct caller caller;
    const char *const settings[] = {"agent.callback.secret", secret, NULL};
    struct error error;
    caller.world = world_new(1);
    caller.world->serves_http = true;
    caller.instance = world_add(caller.world, settings);
    world_rebalance(caller.world);
    struct http_client_options options = {.connections_max = 4};
    cr_assert(http_client_new(caller.world->loop, &options, &caller.client, &error) == ERROR_OK);
    return &caller;
}

static void caller_free(struct caller *caller)
{
    http_client_free(caller->client);
    world_free(caller->world);
}

/* The status of the answer. The broker in memory moves only when the test moves it. */
static int post(struct caller *caller, const char *url, const char *body)
{
    struct http_request request = {.url = url, .body = text_of(body), .timeout_ms = 60000};
    struct error error;
    caller->status = 0;
    cr_assert(http_client_send(caller->client, &request, on_answer, caller, &error) == ERROR_OK);
    for (int turns = 0; turns < 1000000 && caller->status == 0; turns++) {
        broker_memory_settle(caller->world->kafka, 100000);
        loop_once(caller->world->loop, 1);
    }
    return caller->status;
}

static const char *url_of(struct caller *caller, const char *order)
{
    static char url[2048];
    struct step_request request = {.order_id = text_of(order),
                                   .ref = {TEXT("Pay"), DIRECTION_DO, 1}};
    struct text text = agent_callback_url(caller->instance->agent, &request, arena());
    snprintf(url, sizeof(url), "%.*s", TEXT_ARG(text));
    return url;
}

#define DONE "{\"outcome\":\"done\",\"output\":{\"x\":1}}"

Test(callbacks, turns_a_callback_into_a_report)
{
    struct caller *caller = caller_new("secret");
    cr_assert_eq(post(caller, url_of(caller, "A"), DONE), 202, "%s", caller->body);
    cr_assert_eq(post(caller, url_of(caller, "caf\xc3\xa9 ?#&%2F"),
                      "{\"outcome\":\"failed\",\"effect\":\"none\"}"),
                 202, "%s", caller->body);
    cr_assert_not_null(strstr(world_reports(caller->world), "A/Pay/do/1 ok {\"x\":1}\n"));
    cr_assert_not_null(
        strstr(world_reports(caller->world), "caf\xc3\xa9 ?#&%2F/Pay/do/1 Callback.Failed none\n"));
    cr_assert_eq(post(caller, url_of(caller, "B"),
                      "{\"outcome\":\"extend\",\"seconds\":60,\"progress\":\"packing\"}"),
                 202, "%s", caller->body);
    cr_assert_not_null(strstr(world_reports(caller->world), "B/Pay/do/1 more@1060000 packing"),
                       "%s", world_reports(caller->world));
    caller_free(caller);
}

Test(callbacks, refuses_bad_callbacks_without_appending)
{
    static const struct {
        const char *path;
        const char *body;
        int status;
    } cases[] = {
        {"A/Pay/do/1", DONE, 403}, /* no token */
        {"A/Pay/do/1?token=", DONE, 403},
        {"A/Pay/do/1?token=0000000000000000000000000000000000000000000000000000000000000000", DONE,
         403},
        {"A/Pay/do/1?tokem=0", DONE, 400},
        {"A/Pay/do/1?token=0&token=0", DONE, 400},
        {"A/Pay/do/0", DONE, 400},
        {"A/Pay/do/-1", DONE, 400},
        {"A/Pay/do/99999999999999999999", DONE, 400},
        {"A/Pay/make/1", DONE, 400},
        {"A/P%20y/do/1", DONE, 400},
        {"A%2FB/Pay/do/1", DONE, 400},
        {"%ff/Pay/do/1", DONE, 400},
        {"A/Pay/do", DONE, 404},
        {"../A/Pay/do/1/2", DONE, 404},
    };
    struct caller *caller = caller_new("secret");
    const char *base = http_server_url(caller->instance->service.http);
    char url[2048];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(url, sizeof(url), "%s/v1/callbacks/pay/%s", base, cases[i].path);
        cr_assert_eq(post(caller, url, cases[i].body), cases[i].status, "%s: %d %s", cases[i].path,
                     caller->status, caller->body);
    }
    snprintf(url, sizeof(url), "%s&attempt=2", url_of(caller, "A"));
    cr_assert_eq(post(caller, url, DONE), 400, "%s", caller->body);
    snprintf(url, sizeof(url), "%s", url_of(caller, "A"));
    cr_assert_eq(post(caller, url, "{}"), 400);
    static char large[AGENT_CALLBACK_BODY_MAX + 100];
    memset(large, ' ', sizeof(large) - 1);
    cr_assert_eq(post(caller, url, large), 413);
    snprintf(large, sizeof(large), "{\"outcome\":\"done\",\"output\":\"%0*d\"}",
             REPORT_OUTPUT_BYTES_MAX, 0);
    cr_assert_eq(post(caller, url, large), 413);
    cr_assert_str_eq(world_reports(caller->world), "");
    cr_assert_eq(post(caller, url, DONE), 202, "and then the right one");
    caller_free(caller);
}

Test(callbacks, accepts_callbacks_without_a_secret_on_loopback)
{
    struct caller *caller = caller_new("");
    cr_assert_null(strstr(url_of(caller, "A"), "token"));
    cr_assert_eq(post(caller, url_of(caller, "A"), DONE), 202);
    caller_free(caller);
}
