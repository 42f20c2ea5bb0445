/* SPDX-License-Identifier: Apache-2.0 */
/* What orders by HTTP hold while the brokers acknowledge nothing. */
#include "platform/http/client.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { TURNS_MAX = 20000 };

static struct stage stage;
static struct http_access *access_of_server;
static struct http_server *server;
static struct http_client *client;
static int answers;
static int status;
static char answer[512];

static void open_stage(void)
{
    struct error error = {0};
    const struct http_access_options access = {.token_file = "", .user_header = "X-User"};
    const struct http_client_options options = {.ca_file = NULL};
    stage_open(&stage, 1);
    stage_start(&stage, 0);
    stage_settle(&stage);
    cr_assert_eq(http_access_new(stage.loop, NULL, &access, &access_of_server, &error), ERROR_OK);
    const struct http_server_options of_server = {.access = access_of_server};
    cr_assert_eq(http_server_new(stage.loop, &of_server, &server, &error), ERROR_OK);
    cr_assert_eq(http_client_new(stage.loop, &options, &client, &error), ERROR_OK);
    stage.contexts[0].http = server;
    stage.instances[0]->api = http_api_new(stage.instances[0]);
}

static void close_stage(void)
{
    http_client_free(client);
    http_api_free(stage.instances[0]->api);
    stage.instances[0]->api = NULL;
    http_server_free(server);
    http_access_free(access_of_server);
    stage_close(&stage);
}

TestSuite(http_bytes, .init = open_stage, .fini = close_stage);

static void on_answer(const struct http_result *result, void *userdata)
{
    (void)userdata;
    answers++;
    status = result->status;
    snprintf(answer, sizeof(answer), "%.*s", TEXT_ARG(result->body));
}

static bool is_answered(void)
{
    return answers > 0;
}

static bool is_held(void)
{
    return http_api_in_flight(stage.instances[0]->api) > 0 || is_answered();
}

static void wait_until(bool (*condition)(void))
{
    for (int i = 0; i < TURNS_MAX && !condition(); i++) {
        broker_memory_step(stage.kafka);
        loop_once(stage.loop, 1);
    }
    cr_assert(condition());
}

static void post(const char *order_id, const char *text)
{
    char url[256];
    struct error error;
    static char body[8192];
    snprintf(url, sizeof(url), "%s/orders", http_server_url(server));
    snprintf(body, sizeof(body),
             "{\"order_id\": \"%s\", \"currency\": \"EUR\", \"workflow\": \"w\", "
             "\"attributes\": {\"text\": \"%s\"}}",
             order_id, text);
    const struct http_request request = {.url = url, .body = text_of(body), .timeout_ms = 60000};
    answers = 0;
    cr_assert_eq(http_client_send(client, &request, on_answer, NULL, &error), ERROR_OK);
}

Test(http_bytes, count_until_the_brokers_acknowledge_them)
{
    static char text[4001];
    memset(text, 'x', sizeof(text) - 1);
    const struct submission *submission = stage.instances[0];
    cr_assert_eq(submission->in_flight_bytes, 0);
    broker_memory_set_partition_fault(stage.kafka, "p.commands", BROKER_MEMORY_ALL,
                                      PARTITION_READ_ONLY);
    post("large", text);
    wait_until(is_held);
    cr_assert_not(is_answered(), "%s", answer);
    cr_assert_gt(submission->in_flight_bytes, 2 * sizeof(text));
    broker_memory_clear_partition_faults(stage.kafka);
    wait_until(is_answered);
    cr_assert_eq(status, 202, "%s", answer);
    cr_assert_eq(submission->in_flight_bytes, 0);
}

Test(http_bytes, are_refused_beyond_the_bound_that_the_topic_has)
{
    struct submission *submission = stage.instances[0];
    submission->in_flight_bytes += IN_FLIGHT_BYTES_MAX;
    post("late", "");
    wait_until(is_answered);
    cr_assert_eq(status, 503, "%s", answer);
    cr_assert_not_null(strstr(answer, "wait for the brokers"), "%s", answer);
    submission->in_flight_bytes -= IN_FLIGHT_BYTES_MAX;
    post("late", "");
    wait_until(is_answered);
    cr_assert_eq(status, 202, "%s", answer);
}
