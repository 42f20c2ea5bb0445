/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by HTTP: who is taken to send them, and what is refused by what a console knows of the
 * order. */
#include "services/submission/signals.h"

#include "base/heap_arena.h"
#include "platform/files.h"
#include "platform/http/client.h"
#include "platform/http/json_answer.h"
#include "platform/json_tree.h"
#include "tests/lib/http_route.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

enum { WAIT_MS = 20000 };
enum sender { SHOP, MANAGER, SENDER_COUNT };

static const char *const names[SENDER_COUNT] = {"shop", "mary"};
static struct loop *loop;
static struct http_access *access_of_server;
static struct http_server *server;      /* asks for tokens */
static struct http_server *open_server; /* does not */
static struct http_client *client;
static char folder[] = "/tmp/reeve-signals-XXXXXX";
static char tokens_path[64], groups_path[64];
static char tokens[SENDER_COUNT][HTTP_TOKEN_SIZE];
static const char *order_known; /* to the console */

/* ---- the servers ---- */

static json_t *text_json(struct text text)
{
    return json_stringn(text.data != NULL ? text.data : "", text.size);
}

static void respond_signal(struct http_exchange *exchange, const struct signal_order *signal)
{
    json_t *body = json_object();
    json_t *groups = json_array();
    for (uint32_t i = 0; i < signal->groups.count; i++)
        json_array_append_new(groups, text_json(signal->groups.items[i]));
    json_object_set_new(body, "order_id", text_json(signal->order_id));
    json_object_set_new(body, "step", text_json(signal->step));
    json_object_set_new(body, "id", text_json(signal->id));
    json_object_set_new(body, "payload", text_json(signal->payload));
    json_object_set_new(body, "by", text_json(signal->by));
    json_object_set_new(body, "submitted_by", text_json(signal->submitted_by));
    json_object_set_new(body, "reply_to", text_json(signal->reply_to));
    json_object_set_new(body, "groups", groups);
    http_respond_json(exchange, 202, body);
}

/* As the service does, but that nothing is written. */
static void serve_signal(struct http_exchange *exchange, void *userdata)
{
    struct heap_arena heap;
    struct signal_order signal;
    struct error error = {0};
    int status = 400;
    (void)userdata;
    heap_arena_init(&heap, 4096);
    if (signal_read(exchange, text_of(http_param(exchange, "id")), &heap.arena, &signal, &error) ==
        ERROR_OK) {
        json_t *order = json_tree_load(text_of(order_known), 0, NULL);
        cr_assert_not_null(order, "%s", order_known);
        status = signal_status_by(order, &signal, exchange, &error);
        json_decref(order);
    }
    if (status == 0)
        respond_signal(exchange, &signal);
    else
        http_respond_error(exchange, status, error.code, "%s", error.message);
    heap_arena_deinit(&heap);
}

static struct http_server *server_of(struct http_access *access)
{
    struct error error;
    struct http_server *made = NULL;
    const struct http_server_options options = {.access = access};
    cr_assert(http_server_new(loop, &options, &made, &error) == ERROR_OK, "%s", error.message);
    add_route(made, "POST", "/orders/{id}/signals/{step}", HTTP_SUBMIT, 1024 * 1024, serve_signal,
              NULL);
    return made;
}

static void open_servers(void)
{
    struct error error = {0};
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(tokens_path, sizeof(tokens_path), "%s/tokens", folder);
    snprintf(groups_path, sizeof(groups_path), "%s/groups", folder);
    for (int i = 0; i < SENDER_COUNT; i++)
        cr_assert(http_tokens_add(tokens_path, text_of(names[i]), HTTP_ROLE_SUBMITTER, 0, 0,
                                  tokens[i], &error) == ERROR_OK,
                  "%s", error.message);
    cr_assert(files_write_atomic(groups_path, TEXT("managers mary\nauditors mary shop\n"),
                                 &error) == ERROR_OK);
    cr_assert(loop_new(clock_real(), &loop, &error) == ERROR_OK);
    const struct http_access_options access = {.authenticates = true,
                                               .token_file = tokens_path,
                                               .group_file = groups_path,
                                               .user_header = "X-User"};
    cr_assert(http_access_new(loop, NULL, &access, &access_of_server, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert(http_client_new(loop, &(struct http_client_options){.ca_file = NULL}, &client,
                              &error) == ERROR_OK);
    server = server_of(access_of_server);
    open_server = server_of(NULL);
}

static void close_servers(void)
{
    struct error error;
    http_client_free(client);
    http_server_free(server);
    http_server_free(open_server);
    http_access_free(access_of_server);
    loop_free(loop);
    cr_assert_eq(files_remove_tree(folder, &error), ERROR_OK);
}

TestSuite(submission_signals, .init = open_servers, .fini = close_servers);

/* ---- requests ---- */

struct answer {
    int status;
    json_t *json;
};

static void on_answer(const struct http_result *result, void *userdata)
{
    struct answer *answer = userdata;
    cr_assert_eq(result->outcome, HTTP_ANSWERED, "%s", result->message);
    answer->json = json_tree_load(result->body, JSON_ALLOW_NUL, NULL);
    answer->status = result->status;
}

static bool is_answered(void *ctx)
{
    return ((struct answer *)ctx)->status != 0;
}

/* `token` NULL: of the server without tokens. The caller owns `json`. */
static struct answer send_signal(const char *token, const char *step, const char *body)
{
    char url[512];
    char header[128];
    struct error error;
    struct answer answer = {.status = 0};
    const char *const headers[] = {header, NULL};
    snprintf(url, sizeof(url), "%s/orders/o-1/signals/%s",
             http_server_url(token != NULL ? server : open_server), step);
    snprintf(header, sizeof(header), "Authorization: Bearer %s", token != NULL ? token : "");
    const struct http_request request = {.url = url,
                                         .headers = token != NULL ? headers : NULL,
                                         .body = text_of(body),
                                         .timeout_ms = WAIT_MS};
    cr_assert(http_client_send(client, &request, on_answer, &answer, &error) == ERROR_OK);
    cr_assert(loop_run_until(loop, is_answered, &answer, WAIT_MS));
    cr_assert_not_null(answer.json);
    return answer;
}

static const char *text_at(const struct answer *answer, const char *name)
{
    const char *text = json_string_value(json_object_get(answer->json, name));
    return text != NULL ? text : "(none)";
}

/* ---- by what the console knows ---- */

#define STEP(state) "{\"step\": \"Approve\", \"state\": \"" state "\", \"agent\": null}"
#define ORDER(state, by, steps, waits)                                                  \
    "{\"order_id\": \"o-1\", \"state\": \"" state "\", \"submitted_by\": " by           \
    ", \"steps\": [{\"step\": \"Pay\", \"state\": \"Processing\", \"agent\": \"bank\"}" \
    ", " steps "], \"waiting_for\": [" waits "]}"
#define OWN(state, step_state) ORDER(state, "\"shop\"", STEP(step_state), "")
#define WAIT(step, group) \
    "{\"step\": \"" step "\", \"for\": \"signal\", \"group\": " group ", \"options\": []}"
#define OTHERS(state, waits) ORDER(state, "\"web\"", STEP("Waiting"), waits)
#define ONE "{\"payload\": 1}"
#define WITH_ID "{\"payload\": 1, \"id\": \"mail-1\"}"

struct knowledge {
    enum sender sender;
    const char *order;
    const char *step;
    const char *body;
    int status;
    const char *code; /* "": the scheduler decides */
};

static void check_knowledge(const struct knowledge *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        order_known = cases[i].order;
        struct answer answer = send_signal(tokens[cases[i].sender], cases[i].step, cases[i].body);
        cr_expect_eq(answer.status, cases[i].status, "%zu: %d %s", i, answer.status,
                     text_at(&answer, "detail"));
        if (cases[i].code[0] != '\0')
            cr_expect_str_eq(text_at(&answer, "code"), cases[i].code, "%zu", i);
        json_decref(answer.json);
    }
}
#define CHECK(...)                                              \
    do {                                                        \
        const struct knowledge cases[] = {__VA_ARGS__};         \
        check_knowledge(cases, sizeof(cases) / sizeof(*cases)); \
    } while (0)

Test(submission_signals, leaves_to_the_scheduler_what_may_count)
{
    CHECK({SHOP, OWN("Processing", "Waiting"), "Approve", ONE, 202, ""},
          {SHOP, OWN("Processing", "Pending"), "Approve", ONE, 202, ""},
          {SHOP, OWN("Pending", "Pending"), "Approve", ONE, 202, ""},
          {SHOP, OWN("Error", "Waiting"), "Approve", ONE, 202, ""},
          /* It may be the one that passed the step. */
          {SHOP, OWN("Processing", "Processed"), "Approve", WITH_ID, 202, ""},
          {SHOP, OWN("Processed", "Processed"), "Approve", WITH_ID, 202, ""});
}

Test(submission_signals, refuses_what_comes_too_late)
{
    CHECK({SHOP, OWN("Processing", "Processed"), "Approve", ONE, 409, "TooLate"},
          {SHOP, OWN("Processing", "Processed"), "Approve", "{\"payload\": 1, \"id\": \"\"}", 409,
           "TooLate"},
          {SHOP, OWN("Processing", "Skipped"), "Approve", ONE, 409, "TooLate"},
          {SHOP, OWN("Processing", "Caught"), "Approve", ONE, 409, "TooLate"},
          {SHOP, OWN("Error", "Error"), "Approve", ONE, 409, "TooLate"},
          {SHOP, OWN("Processed", "Processed"), "Approve", ONE, 409, "AlreadyEnded"},
          {SHOP, OWN("Compensating", "Skipped"), "Approve", ONE, 409, "AlreadyEnded"},
          {SHOP, OWN("Compensated", "Skipped"), "Approve", ONE, 409, "AlreadyEnded"});
}

Test(submission_signals, refuses_steps_that_await_none)
{
    CHECK({SHOP, OWN("Processing", "Waiting"), "Aprove", ONE, 404, "UnknownStep"},
          {SHOP, OWN("Processing", "Waiting"), "approve", ONE, 404, "UnknownStep"},
          {SHOP, OWN("Processing", "Waiting"), "Pay", ONE, 404, "UnknownStep"});
}

/* To others, an order does not exist, unless one of their groups is asked. */
Test(submission_signals, shows_no_order_of_others)
{
    CHECK({MANAGER, OTHERS("Processing", WAIT("Approve", "\"managers\"")), "Approve", ONE, 202, ""},
          {SHOP, OTHERS("Processing", WAIT("Approve", "\"managers\"")), "Approve", ONE, 404,
           "UnknownOrder"},
          {MANAGER, OTHERS("Processing", WAIT("Approve", "\"Managers\"")), "Approve", ONE, 404,
           "UnknownOrder"},
          {MANAGER, OTHERS("Processing", WAIT("Approve", "null")), "Approve", ONE, 404,
           "UnknownOrder"},
          {MANAGER, OTHERS("Processing", WAIT("Other", "\"managers\"")), "Approve", ONE, 404,
           "UnknownOrder"},
          {MANAGER, OTHERS("Processing", ""), "Approve", ONE, 404, "UnknownOrder"},
          {MANAGER, OTHERS("Processed", ""), "Approve", ONE, 404, "UnknownOrder"},
          {MANAGER, ORDER("Processing", "null", STEP("Waiting"), ""), "Approve", ONE, 404,
           "UnknownOrder"});
}

/* What answers may be another program, or a console of another version. */
Test(submission_signals, takes_any_answer_of_a_console)
{
    CHECK({SHOP, "{}", "Approve", ONE, 404, "UnknownOrder"},
          {SHOP, "[]", "Approve", ONE, 404, "UnknownOrder"},
          {SHOP, "{\"submitted_by\": \"shop\"}", "Approve", ONE, 404, "UnknownStep"},
          {SHOP, "{\"submitted_by\": \"shop\", \"state\": 7, \"steps\": [{\"step\": \"Approve\"}]}",
           "Approve", ONE, 202, ""},
          {SHOP, "{\"submitted_by\": \"shop\", \"steps\": \"Approve\", \"waiting_for\": 7}",
           "Approve", ONE, 404, "UnknownStep"},
          {SHOP, "{\"submitted_by\": \"shop\", \"steps\": [null, 1, {\"step\": [\"Approve\"]}]}",
           "Approve", ONE, 404, "UnknownStep"},
          {MANAGER, "{\"waiting_for\": [7, {\"step\": \"Approve\", \"group\": [\"managers\"]}]}",
           "Approve", ONE, 404, "UnknownOrder"});
}

/* ---- who sends it ---- */

Test(submission_signals, takes_the_sender_from_the_token)
{
    order_known = OTHERS("Processing", WAIT("Approve", "\"managers\""));
    struct answer answer =
        send_signal(tokens[MANAGER], "Approve",
                    "{\"choice\": \"<b>\", \"comment\": \"\\u001b]0;\\\"\", \"by\": \"shop\","
                    " \"id\": \"7\", \"reply_to\": \"orders.replies.web\"}");
    cr_assert_eq(answer.status, 202, "%s", text_at(&answer, "detail"));
    cr_expect_str_eq(text_at(&answer, "by"), "mary");
    cr_expect_str_eq(text_at(&answer, "submitted_by"), "mary");
    cr_expect_str_eq(text_at(&answer, "order_id"), "o-1");
    cr_expect_str_eq(text_at(&answer, "step"), "Approve");
    cr_expect_str_eq(text_at(&answer, "id"), "7");
    cr_expect_str_eq(text_at(&answer, "reply_to"), "orders.replies.web");
    cr_expect_str_eq(text_at(&answer, "payload"),
                     "{\"choice\":\"<b>\",\"comment\":\"\\u001b]0;\\\"\"}");
    const json_t *groups = json_object_get(answer.json, "groups");
    cr_assert_eq(json_array_size(groups), 2);
    cr_expect_str_eq(json_string_value(json_array_get(groups, 0)), "auditors");
    cr_expect_str_eq(json_string_value(json_array_get(groups, 1)), "managers");
    json_decref(answer.json);
}

Test(submission_signals, takes_the_sender_from_the_body_without_tokens)
{
    order_known = OTHERS("Processing", WAIT("Approve", "\"managers\""));
    struct answer answer = send_signal(NULL, "Approve", "{\"payload\": [1.10], \"by\": \"ann\"}");
    cr_assert_eq(answer.status, 202, "%s", text_at(&answer, "detail"));
    cr_expect_str_eq(text_at(&answer, "by"), "ann");
    cr_expect_str_eq(text_at(&answer, "submitted_by"), "");
    cr_expect_str_eq(text_at(&answer, "payload"), "[1.1]");
    cr_expect_eq(json_array_size(json_object_get(answer.json, "groups")), 0);
    json_decref(answer.json);
}

Test(submission_signals, names_what_is_wrong)
{
    static const struct {
        const char *step;
        const char *body;
        const char *part;
    } cases[] = {
        {"Approve", "", ""},
        {"Approve", "[]", "expected a JSON object"},
        {"Approve", "{}", "payload: expected any JSON value"},
        {"Approve", "{\"payload\": 1, \"choice\": \"a\"}", "expected one of them"},
        {"Approve", "{\"payload\": 1, \"groups\": [\"managers\"]}", "groups"},
        {"Approve", "{\"payload\": 1, \"submitted_by\": \"web\"}", "submitted_by"},
        {"Approve", "{\"payload\": 1, \"step\": \"Pay\"}", "step"},
        {"Approve", "{\"payload\": 1, \"id\": \"" LONG64 LONG64 "x\"}", "id is 129 bytes"},
        {"two%20words", ONE, "the step must be"},
        {"%3Cb%3E", ONE, "the step must be"},
        {"%0A", ONE, "the step must be"},
        {LONG64 "x", ONE, "the step must be"},
    };
    order_known = OWN("Processing", "Waiting");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer answer = send_signal(tokens[SHOP], cases[i].step, cases[i].body);
        cr_expect_eq(answer.status, 400, "%zu: %d", i, answer.status);
        cr_expect_not_null(strstr(text_at(&answer, "detail"), cases[i].part), "%zu: %s", i,
                           text_at(&answer, "detail"));
        json_decref(answer.json);
    }
}
