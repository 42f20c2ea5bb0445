/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the HTTP agent, and the outcome of each answer. */
#include "base/goods.h"
#include "services/agent/kinds/http_message.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>

/* Empty at each call: earlier results are not used any more. */
static struct arena *arena(void)
{
    static uint8_t memory[1 << 20];
    static struct arena arena;
    arena_init(&arena, memory, sizeof(memory));
    return &arena;
}

/* ---- answers ---- */

struct answer_case {
    struct http_result result;
    const char *body;
    bool succeeded;
    const char *name;
    const char *message;
    enum effect effect;
    bool retriable;
    int64_t retry_after_ms;
};

#define ANSWERED(code)                                                   \
    {                                                                    \
        .outcome = HTTP_ANSWERED, .status = (code), .retry_after_ms = -1 \
    }
#define DEFINITE EFFECT_NONE, false, 0
#define AGAIN EFFECT_UNKNOWN, true, 0

static const struct answer_case cases[] = {
    {ANSWERED(200), "{\"a\":1}", true, "", "", DEFINITE},
    {ANSWERED(201), "", true, "", "", DEFINITE},
    {ANSWERED(204), "", true, "", "", DEFINITE},
    {ANSWERED(299), "no JSON", true, "", "", DEFINITE},
    {ANSWERED(301), "", false, "Http.301", "the service redirects, which is not followed",
     EFFECT_UNKNOWN, false, 0},
    {ANSWERED(303), "{\"error\":\"X\"}", false, "Http.303",
     "the service redirects, which is not followed", EFFECT_UNKNOWN, false, 0},
    {ANSWERED(399), "", false, "Http.399", "the service redirects, which is not followed",
     EFFECT_UNKNOWN, false, 0},
    {ANSWERED(400), "", false, "Http.400", "Http.400", DEFINITE},
    {ANSWERED(404), "<html>", false, "Http.404", "Http.404", DEFINITE},
    {ANSWERED(422), "{\"error\":\"PaymentDeclined\",\"message\":\"no funds\"}", false,
     "PaymentDeclined", "no funds", DEFINITE},
    {ANSWERED(422), "{\"error\":\"PaymentDeclined\"}", false, "PaymentDeclined", "Http.422",
     DEFINITE},
    {ANSWERED(422), "{\"error\":\"not a name\"}", false, "Http.422", "not a name", DEFINITE},
    {ANSWERED(422), "{\"error\":\"States.Timeout\",\"message\":\"ha\"}", false, "Http.422", "ha",
     DEFINITE},
    {ANSWERED(422), "{\"error\":{\"code\":7}}", false, "Http.422", "Http.422", DEFINITE},
    {ANSWERED(422), "[1]", false, "Http.422", "Http.422", DEFINITE},
    {ANSWERED(408), "", false, "Http.408", "Http.408", AGAIN},
    {ANSWERED(409), "{\"error\":\"Busy\",\"message\":\"later\"}", false, "Http.409", "later",
     AGAIN},
    {ANSWERED(425), "", false, "Http.425", "Http.425", AGAIN},
    {{.outcome = HTTP_ANSWERED, .status = 429, .retry_after_ms = 3000},
     "",
     false,
     "Http.429",
     "Http.429",
     EFFECT_UNKNOWN,
     true,
     3000},
    {ANSWERED(500), "", false, "Http.500", "Http.500", AGAIN},
    {{.outcome = HTTP_ANSWERED, .status = 503, .retry_after_ms = 1000},
     "",
     false,
     "Http.503",
     "Http.503",
     EFFECT_UNKNOWN,
     true,
     1000},
    {ANSWERED(599), "", false, "Http.599", "Http.599", AGAIN},
    {ANSWERED(700), "", false, "Http.700", "Http.700", AGAIN},
    {{.outcome = HTTP_NOT_SENT, .message = "refused"},
     "",
     false,
     "Http.NotConnected",
     "refused",
     EFFECT_NONE,
     true,
     0},
    {{.outcome = HTTP_MAYBE_SENT, .timed_out = true, .message = "slow"},
     "",
     false,
     "Http.Timeout",
     "slow",
     AGAIN},
    {{.outcome = HTTP_MAYBE_SENT, .message = "reset"},
     "",
     false,
     "Http.ConnectionLost",
     "reset",
     AGAIN},
    /* Broken off in the middle of a good answer: the effect is unknown. */
    {{.outcome = HTTP_MAYBE_SENT, .status = 200, .message = "cut"},
     "{\"a\":",
     false,
     "Http.ConnectionLost",
     "cut",
     AGAIN},
};

Test(http_agent, maps_answers_to_outcomes)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct answer_case *expected = &cases[i];
        struct http_result result = expected->result;
        struct http_message_outcome verdict;
        result.body = text_of(expected->body);
        http_message_outcome(&result, arena(), &verdict);
        cr_assert_eq(verdict.succeeded, expected->succeeded, "case %zu", i);
        if (expected->succeeded) {
            cr_assert(text_equal(verdict.output, result.body), "case %zu", i);
            continue;
        }
        cr_assert(text_equal(verdict.failure.name, text_of(expected->name)), "case %zu: %.*s", i,
                  TEXT_ARG(verdict.failure.name));
        cr_assert(text_equal(verdict.failure.message, text_of(expected->message)), "case %zu: %.*s",
                  i, TEXT_ARG(verdict.failure.message));
        cr_assert_eq(verdict.failure.effect, expected->effect, "case %zu", i);
        cr_assert_eq(verdict.failure.retriable, expected->retriable, "case %zu", i);
        cr_assert_eq(verdict.failure.retry_after_ms, expected->retry_after_ms, "case %zu", i);
    }
}

/* None is what lets the scheduler leave a step as it is: only a refusal proves it. */
Test(http_agent, reports_effect_none_for_definite_4xx_only)
{
    for (int status = 100; status < 1000; status++) {
        struct http_result result = ANSWERED(status);
        struct http_message_outcome verdict;
        bool definite = status >= 400 && status < 500 && status != 408 && status != 409 &&
                        status != 425 && status != 429;
        result.body = TEXT("{\"error\":\"Refused\"}");
        http_message_outcome(&result, arena(), &verdict);
        if (!verdict.succeeded)
            cr_assert_eq(verdict.failure.effect == EFFECT_NONE, definite, "status %d", status);
    }
}

Test(http_agent, truncates_an_output_that_is_too_long)
{
    struct http_result result = {
        .outcome = HTTP_ANSWERED, .status = 200, .body_cut = true, .body = TEXT("{\"a\":")};
    struct http_message_outcome verdict;
    http_message_outcome(&result, arena(), &verdict);
    cr_assert(verdict.succeeded);
    cr_assert(text_equal(verdict.output, TEXT("{\"bytes\":5,\"truncated\":true}")));
}

/* ---- requests ---- */

/* TEXT() for static data. */
#define T(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

static struct order_line lines[] = {
    {T("85123A"), T("HANGING \"HEART\""), 6, {25500}},
    {T("71053"), T(""), 1, {-1}},
};
static struct attribute attributes[] = {{T("channel"), T("web")}};
static struct step_output outputs[] = {
    {T("ReserveStock"), T("{\"reservation\":\"R1\"}")},
    {T("CheckFraud"), T("")},
};
static const struct goods goods = {T("GBP"), lines, 2};
static struct order_details details = {
    .order_id = T("536365"),
    .customer = T("17850"),
    .goods = &goods,
    .attributes = attributes,
    .attribute_count = 1,
    .priority = PRIORITY_HIGH,
    .traceparent = T("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
};

static struct step_request undo_request(void)
{
    return (struct step_request){
        .order_id = TEXT("536365"),
        .ref = {TEXT("TakePayment"), DIRECTION_UNDO, 2},
        .agent = TEXT("payment"),
        .action = TEXT("RefundPayment"),
        .idempotency_key = TEXT("536365/TakePayment/undo/0"),
        .do_key = TEXT("536365/TakePayment/do/0"),
        .complete_by = INT64_C(1291191960000),
        .order = &details,
        .outputs = outputs,
        .output_count = 2,
    };
}

Test(http_agent, builds_the_documented_body)
{
    struct step_request request = undo_request();
    struct text body = http_message_body(&request, arena());
    static const char expected[] =
        "{\"order_id\":\"536365\",\"step\":\"TakePayment\",\"direction\":\"undo\","
        "\"action\":\"RefundPayment\",\"attempt\":2,"
        "\"idempotency_key\":\"536365/TakePayment/undo/0\","
        "\"do_key\":\"536365/TakePayment/do/0\",\"complete_by\":1291191960000,"
        "\"order\":{\"customer\":\"17850\",\"currency\":\"GBP\",\"lines\":["
        "{\"sku\":\"85123A\",\"description\":\"HANGING \\\"HEART\\\"\",\"quantity\":6,"
        "\"unit_price\":\"2.55\"},"
        "{\"sku\":\"71053\",\"description\":\"\",\"quantity\":1,\"unit_price\":\"-0.0001\"}],"
        "\"attributes\":{\"channel\":\"web\"},\"priority\":\"high\"},"
        "\"outputs\":{\"ReserveStock\":{\"reservation\":\"R1\"},\"CheckFraud\":null}}";
    cr_assert(text_equal(body, text_of(expected)), "%.*s", TEXT_ARG(body));
}

static void expect_end(const struct step_request *request, const char *end)
{
    struct text body = http_message_body(request, arena());
    uint32_t size = (uint32_t)strlen(end);
    cr_assert(body.size > size);
    cr_expect(text_equal(text_from(body, body.size - size), text_of(end)), "%.*s", TEXT_ARG(body));
}

Test(http_agent, sends_numbers_as_they_were_reported)
{
    static const struct step_output reported[] = {
        {TEXT_CONST("Price"), TEXT_CONST("{\"amount\":100.1,\"id\":12345678901234567890}")},
        {TEXT_CONST("Old"), TEXT_CONST("{\"amount\": 100.10}")},
        {TEXT_CONST("Cut"), TEXT_CONST("{\"a\": \"b")},
    };
    struct order_details with_input = details;
    struct step_request request = undo_request();
    request.outputs = (struct step_output *)(uintptr_t)reported;
    request.output_count = 3;
    expect_end(&request, "\"priority\":\"high\"},"
                         "\"outputs\":{\"Price\":{\"amount\":100.1,\"id\":12345678901234567890},"
                         "\"Old\":{\"amount\":100.1},\"Cut\":null}}");
    with_input.input = TEXT("{\"total\":100.1}");
    request.order = &with_input;
    request.output_count = 0;
    expect_end(&request, "\"priority\":\"high\",\"input\":{\"total\":100.1}},\"outputs\":{}}");
}

/* What the step's Input made is instead of lines, input and outputs. */
Test(http_agent, sends_the_input_of_a_step)
{
    struct order_details without = details;
    struct step_request request = undo_request();
    without.goods = NULL;
    request.order = &without;
    request.input = TEXT("{\"amount\":100.1,\"id\":12345678901234567890}");
    request.output_count = 0;
    expect_end(&request, "\"complete_by\":1291191960000,"
                         "\"input\":{\"amount\":100.1,\"id\":12345678901234567890},"
                         "\"order\":{\"customer\":\"17850\",\"currency\":\"\","
                         "\"attributes\":{\"channel\":\"web\"},\"priority\":\"high\"}}");
    request.output_count = 1; /* an undo has that of its own step */
    expect_end(&request,
               "\"priority\":\"high\"},\"outputs\":{\"ReserveStock\":{\"reservation\":\"R1\"}}}");
}

Test(http_agent, builds_headers)
{
    struct step_request request = undo_request();
    const char *headers[HTTP_MESSAGE_HEADERS + 1];
    http_message_headers(&request, 1, false, TEXT(""), arena(), headers);
    cr_assert_str_eq(headers[0], "Content-Type: application/json");
    cr_assert_str_eq(headers[2], "Idempotency-Key: 536365/TakePayment/undo/0");
    cr_assert_str_eq(headers[3], "Reeve-Deadline: 2010-12-01T08:26:00.000Z");
    cr_assert_str_eq(headers[4], "Reeve-Attempt: 2");
    cr_assert_eq(strncmp(headers[5], "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-", 49), 0);
    cr_assert_null(headers[6]);
    http_message_headers(&request, 1, false, TEXT("http://127.0.0.1:1/v1/callbacks/x"), arena(),
                         headers);
    cr_assert_str_eq(headers[6], "Reeve-Callback: http://127.0.0.1:1/v1/callbacks/x");
    cr_assert_null(headers[7]);
}

Test(http_agent, never_leaves_its_base_url)
{
    char url[HTTP_MESSAGE_URL_SIZE];
    struct error error;
    cr_assert(http_message_url("http://shop/api", TEXT("Ship..It"), url, &error) == ERROR_OK);
    cr_assert_str_eq(url, "http://shop/api/Ship..It");
    cr_assert(http_message_url("http://shop/api", TEXT(".."), url, &error) == ERROR_REJECT);
    cr_assert(http_message_url("http://shop/api", TEXT("."), url, &error) == ERROR_REJECT);
}

Test(http_agent, escapes_unusual_order_ids_in_headers)
{
    struct step_request request = undo_request();
    const char *headers[HTTP_MESSAGE_HEADERS + 1];
    request.idempotency_key = TEXT("caf\xc3\xa9 7/TakePayment/undo/0");
    http_message_headers(&request, 1, false, TEXT(""), arena(), headers);
    cr_assert_str_eq(headers[2], "Idempotency-Key: caf%C3%A9%207/TakePayment/undo/0");
    struct text body = http_message_body(&request, arena());
    json_t *json = json_loadb(body.data, body.size, 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(json, "idempotency_key")),
                     "caf%C3%A9%207/TakePayment/undo/0", "header and body agree");
    json_decref(json);
}

Test(http_agent, begins_a_trace_where_there_are_traces)
{
    struct order_details order = details;
    struct step_request request = undo_request();
    const char *headers[HTTP_MESSAGE_HEADERS + 1];
    order.traceparent = TEXT("");
    request.order = &order;
    http_message_headers(&request, 1, false, TEXT(""), arena(), headers);
    cr_assert_null(headers[5]);
    http_message_headers(&request, 1, true, TEXT(""), arena(), headers);
    cr_assert_eq(strncmp(headers[5], "traceparent: 00-", 16), 0);
}
