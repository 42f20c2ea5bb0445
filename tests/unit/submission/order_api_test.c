/* SPDX-License-Identifier: Apache-2.0 */
/* GET /orders/{id}, and in which field two orders differ. The console is a server of the test. */
#include "base/goods.h"
#include "platform/http/client.h"
#include "platform/json_tree.h"
#include "replica/service/settings.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"
#include "services/submission/order_api.h"
#include "tests/lib/http_route.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 20000 };

static struct loop *loop;
static struct http_access *access_of_server;
static struct http_server *server, *console;
static struct http_client *client;
static struct config *config;
static struct order_lookup *lookup;
static struct order_api *api;
static char tokens_path[] = "/tmp/reeve-order-api-XXXXXX";
static char shop[HTTP_TOKEN_SIZE], other[HTTP_TOKEN_SIZE];

/* What the console answers, and what it was asked. */
static int console_status;
static const char *console_body;
static char asked[256];

static void serve_order(struct http_exchange *exchange, void *userdata)
{
    const char *wait = http_query(exchange, "wait");
    const char *header = http_header(exchange, "Authorization");
    (void)userdata;
    snprintf(asked, sizeof(asked), "%s wait=%s %s", http_param(exchange, "id"),
             wait != NULL ? wait : "-", header != NULL ? header : "-");
    http_respond(exchange, console_status, "application/json", text_of(console_body));
}

static void add_token(const char *name, char ret_token[HTTP_TOKEN_SIZE])
{
    struct error error;
    cr_assert(http_tokens_add(tokens_path, text_of(name), HTTP_ROLE_SUBMITTER, 0, 0, ret_token,
                              &error) == ERROR_OK,
              "%s", error.message);
}

static void set(const char *key, const char *value)
{
    struct error error;
    cr_assert(config_set(config, key, value, &error) == ERROR_OK, "%s", error.message);
}

static void open_servers(void)
{
    struct error error = {0};
    int fd = mkstemp(tokens_path);
    close(fd);
    add_token("shop", shop);
    add_token("other", other);
    cr_assert(loop_new(clock_real(), &loop, &error) == ERROR_OK);
    const struct http_access_options access = {
        .authenticates = true, .token_file = tokens_path, .user_header = "X-User"};
    cr_assert(http_access_new(loop, NULL, &access, &access_of_server, &error) == ERROR_OK);
    cr_assert(http_server_new(loop, &(struct http_server_options){.access = access_of_server},
                              &server, &error) == ERROR_OK);
    cr_assert(http_server_new(loop, &(struct http_server_options){.port = 0}, &console, &error) ==
              ERROR_OK);
    add_route(console, "GET", "/api/orders/{id}", HTTP_OPEN, 0, serve_order, NULL);
    cr_assert(http_client_new(loop, &(struct http_client_options){.ca_file = NULL}, &client,
                              &error) == ERROR_OK);
    config = config_new(&settings_schema);
    set("submission.console.url", http_server_url(console));
    set("submission.console.token", "reeve_console");
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(order_lookup_new(loop, config, &lookup, &error) == ERROR_OK, "%s", error.message);
    api = order_api_new(server, lookup);
}

static void close_servers(void)
{
    order_api_drain(api);
    http_server_free(server);
    order_api_free(api);
    order_lookup_free(lookup);
    http_server_free(console);
    http_client_free(client);
    http_access_free(access_of_server);
    config_free(config);
    loop_free(loop);
    unlink(tokens_path);
}

TestSuite(order_api, .init = open_servers, .fini = close_servers);

struct answer {
    int status;
    char body[512];
};

static void on_answer(const struct http_result *result, void *userdata)
{
    struct answer *answer = userdata;
    cr_assert_eq(result->outcome, HTTP_ANSWERED, "%s", result->message);
    snprintf(answer->body, sizeof(answer->body), "%.*s", TEXT_ARG(result->body));
    answer->status = result->status;
}

static bool is_answered(void *ctx)
{
    return ((struct answer *)ctx)->status != 0;
}

static void send(const char *path, const char *token, struct answer *answer)
{
    char url[256];
    char header[128];
    struct error error;
    const char *const headers[] = {header, NULL};
    snprintf(url, sizeof(url), "%s%s", http_server_url(server), path);
    snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
    const struct http_request request = {
        .method = "GET", .url = url, .headers = headers, .timeout_ms = WAIT_MS};
    *answer = (struct answer){.status = 0};
    cr_assert(http_client_send(client, &request, on_answer, answer, &error) == ERROR_OK);
}

static struct answer ask(const char *path, const char *token)
{
    struct answer answer;
    send(path, token, &answer);
    cr_assert(loop_run_until(loop, is_answered, &answer, WAIT_MS));
    return answer;
}

#define ORDER                                                                  \
    "{\"order_id\":\"a/1\",\"state\":\"Processed\",\"submitted_by\":\"shop\"," \
    "\"input\":[100.10,12345678901234567890]}"

Test(order_api, shows_a_submitter_its_own_orders)
{
    console_status = 200;
    console_body = ORDER;
    struct answer answer = ask("/orders/a%2F1?wait=30s", shop);
    cr_assert_eq(answer.status, 400, "ids have no slash: %s", answer.body);
    answer = ask("/orders/a-1?wait=30s", shop);
    cr_assert_eq(answer.status, 200, "%s", answer.body);
    cr_assert_str_eq(answer.body, ORDER);
    cr_assert_str_eq(asked, "a-1 wait=30000ms Bearer reeve_console");
    answer = ask("/orders/caf%C3%A9%20%3F", shop);
    cr_assert_str_eq(asked, "caf\xc3\xa9 ? wait=- Bearer reeve_console");
    answer = ask("/orders/a-1", other);
    cr_assert_eq(answer.status, 404, "%s", answer.body);
    cr_assert(strstr(answer.body, "Processed") == NULL);
    console_body = "{\"order_id\":\"a-1\",\"submitted_by\":null}";
    cr_assert_eq(ask("/orders/a-1", shop).status, 404, "submitted without a token");
}

/* An order that does not exist is waited for; so is another's. */
Test(order_api, does_not_tell_by_its_time_that_anothers_order_exists)
{
    console_status = 200;
    console_body = ORDER;
    int64_t began = loop_now_ms(loop);
    cr_assert_eq(ask("/orders/a-1?wait=300ms", other).status, 404);
    cr_assert_geq(loop_now_ms(loop) - began, 300);
    struct answer answer;
    send("/orders/a-1?wait=30s", other, &answer);
    loop_run_until(loop, is_answered, &answer, 100);
    cr_assert_eq(answer.status, 0);
    order_api_drain(api);
    cr_assert(loop_run_until(loop, is_answered, &answer, WAIT_MS));
    cr_assert_eq(answer.status, 503);
}

Test(order_api, refuses_half_a_client_certificate)
{
    struct error error;
    struct config *half = config_new(&settings_schema);
    struct order_lookup *none = NULL;
    cr_assert(config_set(half, "submission.console.url", "https://c", &error) == ERROR_OK);
    cr_assert(config_set(half, "submission.console.tls.cert", "c.pem", &error) == ERROR_OK);
    cr_assert(config_finish(half, &error) == ERROR_OK);
    cr_assert(order_lookup_new(loop, half, &none, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "belong together: set both") != NULL, "%s", error.message);
    config_free(half);
}

Test(order_api, refuses_a_token_that_no_header_can_hold)
{
    struct error error;
    struct config *bad = config_new(&settings_schema);
    struct order_lookup *none = NULL;
    cr_assert(config_set(bad, "submission.console.url", "https://c", &error) == ERROR_OK);
    cr_assert(config_set(bad, "submission.console.token", "a b", &error) == ERROR_OK);
    cr_assert(config_finish(bad, &error) == ERROR_OK);
    cr_assert(order_lookup_new(loop, bad, &none, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "submission.console.token (") != NULL, "%s", error.message);
    config_free(bad);
}

Test(order_api, says_why_it_does_not_know)
{
    static const struct {
        int status;
        const char *body;
        int expected;
        const char *part;
    } cases[] = {
        {404, "{\"code\":\"UnknownOrder\",\"detail\":\"?\"}", 404, "order a does not exist"},
        {503, "{\"code\":\"NotReady\",\"detail\":\"reading\"}", 503, "NotReady"},
        {401, "{\"code\":\"BadToken\",\"detail\":\"?\"}", 503, "submission.console.token"},
        {403, "{\"code\":\"Forbidden\",\"detail\":\"?\"}", 503, "submission.console.token"},
        {500, "{}", 503, "gives no reason"},
        {200, "<html>", 503, "not that of a console"},
        {200, "[]", 503, "not that of a console"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        console_status = cases[i].status;
        console_body = cases[i].body;
        struct answer answer = ask("/orders/a", shop);
        cr_expect_eq(answer.status, cases[i].expected, "%zu: %d", i, answer.status);
        cr_expect(strstr(answer.body, cases[i].part) != NULL, "%zu: %s", i, answer.body);
    }
    http_server_free(console);
    console = NULL;
    struct answer answer = ask("/orders/a", shop);
    cr_assert_eq(answer.status, 503);
    cr_assert(strstr(answer.body, "the console does not answer") != NULL, "%s", answer.body);
}

Test(order_api, rejects_malformed_requests)
{
    cr_assert_eq(ask("/orders/a?wait=61s", shop).status, 400);
    cr_assert_eq(ask("/orders/a?wait=soon", shop).status, 400);
    cr_assert_eq(ask("/orders/a?weit=1s", shop).status, 400);
    cr_assert_eq(ask("/orders/a?wait=1s&wait=2s", shop).status, 400);
    cr_assert_eq(ask("/orders/a", "wrong").status, 401);
    cr_assert_str_eq(asked, "");
}

static void hold(struct http_exchange *exchange, void *userdata)
{
    *(struct http_exchange **)userdata = exchange;
}

static bool is_held(void *ctx)
{
    return *(struct http_exchange **)ctx != NULL;
}

/* Another console, which answers in another way, for a new server. */
static void use_console(http_handler handler, void *userdata)
{
    struct error error;
    order_api_drain(api);
    order_api_free(api);
    order_lookup_free(lookup);
    http_server_free(server);
    http_server_free(console);
    config_free(config);
    cr_assert(http_server_new(loop, &(struct http_server_options){.port = 0}, &console, &error) ==
              ERROR_OK);
    add_route(console, "GET", "/api/orders/{id}", HTTP_OPEN, 0, handler, userdata);
    config = config_new(&settings_schema);
    set("submission.console.url", http_server_url(console));
    cr_assert(config_finish(config, &error) == ERROR_OK);
    cr_assert(order_lookup_new(loop, config, &lookup, &error) == ERROR_OK);
    cr_assert(http_server_new(loop, &(struct http_server_options){.access = access_of_server},
                              &server, &error) == ERROR_OK);
    api = order_api_new(server, lookup);
}

Test(order_api, answers_what_waits_when_the_service_drains)
{
    static struct http_exchange *held;
    struct answer answer;
    use_console(hold, &held);
    send("/orders/a?wait=30s", shop, &answer);
    cr_assert(loop_run_until(loop, is_held, &held, WAIT_MS));
    order_api_drain(api);
    cr_assert(loop_run_until(loop, is_answered, &answer, WAIT_MS));
    cr_assert_eq(answer.status, 503);
    cr_assert(strstr(answer.body, "ShuttingDown") != NULL, "%s", answer.body);
    cr_assert_eq(ask("/orders/a", shop).status, 503);
    http_respond(held, 200, "application/json", TEXT("{}"));
    loop_once(loop, 10);
}

static struct http_exchange *waits;
static uint32_t asked_again;

static void hold_waits(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    if (http_query(exchange, "wait") != NULL) {
        waits = exchange;
        return;
    }
    asked_again++;
    http_respond(exchange, 200, "application/json", TEXT(ORDER));
}

static bool console_sees_it_gone(void *ctx)
{
    (void)ctx;
    return asked_again > 0 && http_gone(waits) && http_server_waits(server) == 0;
}

/* It would hold a connection of both services until its time is over. */
Test(order_api, ends_the_wait_of_a_client_that_has_gone)
{
    struct answer answer;
    use_console(hold_waits, NULL);
    send("/orders/a-1?wait=60s", shop, &answer);
    cr_assert(loop_run_until(loop, is_held, &waits, WAIT_MS));
    cr_assert_eq(http_server_waits(server), 1);
    http_client_cancel(client, &answer);
    cr_assert(loop_run_until(loop, console_sees_it_gone, NULL, WAIT_MS));
    http_respond(waits, 200, "application/json", TEXT("{}"));
}

/* ---- differences ---- */

static const char *difference(const struct order_details *left, const struct order_details *right)
{
    static char field[ORDER_DIFFERENCE_SIZE];
    static const char *const texts[] = {"customer", "currency",     "priority", "reply_to",
                                        "workflow", "content_hash", NULL};
    static const char *const others[] = {"lines", "attributes", "input", NULL};
    struct order_details known = *right;
    struct order_details ours = *left;
    json_t *json = json_object();
    known.content_hash = details_content_hash(&known);
    ours.content_hash = details_content_hash(&ours);
    json_codec_add(json, &binding_order_details, &known, texts, JSON_CODEC_NULLS);
    json_codec_add(json, &binding_order_details, &known, others, 0);
    char *text = json_tree_print(json, JSON_COMPACT);
    json_t *sent = json_tree_load(text_of(text), 0, NULL);
    order_difference(&ours, sent, field);
    json_decref(sent);
    json_decref(json);
    free(text);
    return field;
}

Test(order_difference, names_the_field)
{
    struct order_line lines[2] = {{TEXT("x"), TEXT("a lamp"), 2, {15000}},
                                  {TEXT("y"), TEXT(""), 1, {5}}};
    struct order_line other_lines[2];
    struct attribute attributes[1] = {{TEXT("k"), TEXT("v")}};
    struct attribute other_attributes[1] = {{TEXT("k"), TEXT("w")}};
    const struct order_details order = {.order_id = TEXT("a"),
                                        .customer = TEXT("c"),
                                        .goods = &(struct goods){TEXT("EUR"), lines, 2},
                                        .attributes = attributes,
                                        .attribute_count = 1,
                                        .priority = PRIORITY_NORMAL,
                                        .workflow = TEXT("w")};
    struct order_details changed = order;
    cr_expect_str_eq(difference(&order, &order), "");
    changed.traceparent = TEXT("00-1-2-01");
    changed.submitted_by = TEXT("shop");
    cr_expect_str_eq(difference(&order, &changed), "", "not part of the identity");
    changed = order;
    changed.customer = TEXT("");
    cr_expect_str_eq(difference(&order, &changed), "customer");
    cr_expect_str_eq(difference(&changed, &order), "customer");
    changed = order;
    changed.priority = PRIORITY_HIGH;
    cr_expect_str_eq(difference(&order, &changed), "priority");
    changed = order;
    changed.goods = &(struct goods){TEXT("EUR"), lines, 1};
    cr_expect_str_eq(difference(&order, &changed), "lines");
    memcpy(other_lines, lines, sizeof(lines));
    changed = order;
    changed.goods = &(struct goods){TEXT("EUR"), other_lines, 2};
    other_lines[1].unit_price.unscaled = 6;
    cr_expect_str_eq(difference(&order, &changed), "lines[1].unit_price");
    other_lines[0].quantity = 3;
    cr_expect_str_eq(difference(&order, &changed), "lines[0].quantity");
    changed = order;
    changed.attributes = other_attributes;
    cr_expect_str_eq(difference(&order, &changed), "attributes.k");
    changed.attribute_count = 0;
    cr_expect_str_eq(difference(&order, &changed), "attributes.k");
    cr_expect_str_eq(difference(&changed, &order), "attributes.k");
    changed = order;
    changed.workflow_version = 2;
    cr_expect_str_eq(difference(&order, &changed), "workflow_version");
    changed.input = TEXT("{\"n\":12345678901234567890.5,\"t\":\"\\u001f\"}");
    cr_expect_str_eq(difference(&order, &changed), "input");
    cr_expect_str_eq(difference(&changed, &order), "input");
    struct order_details again = changed;
    again.workflow_version = 3;
    cr_expect_str_eq(difference(&again, &changed), "workflow_version");
    again.input = TEXT("{\"n\":12345678901234567890.6,\"t\":\"\\u001f\"}");
    cr_expect_str_eq(difference(&again, &changed), "input");
}
