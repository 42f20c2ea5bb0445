/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as HTTP brings them. */
#include "schemas/json/signal_json.h"

#include "base/heap_arena.h"
#include "schemas/json/json_codec.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fields[] = {"id", "payload", "choice", "comment", "by", NULL};
static struct heap_arena heap;

static void open_heap(void)
{
    heap_arena_init(&heap, 4096);
}

static void close_heap(void)
{
    heap_arena_deinit(&heap);
}

TestSuite(signal_json, .init = open_heap, .fini = close_heap);

static enum error_class read_signal(const char *json, struct signal_order *ret_signal,
                                    struct error *ret_error)
{
    struct json_value body;
    cr_assert(json_codec_parse(text_of(json), "body", &heap.arena, &body, ret_error) == ERROR_OK,
              "%s", ret_error->message);
    return signal_json_read(body, fields, &heap.arena, ret_signal, ret_error);
}

Test(signal_json, reads_payloads_and_choices)
{
    static const struct {
        const char *body;
        const char *payload;
        const char *id;
    } cases[] = {
        {"{\"payload\": {\"b\": 1.0, \"a\": []}, \"id\": \"7\"}", "{\"a\":[],\"b\":1}", "7"},
        {"{\"payload\": null}", "null", ""},
        {"{\"payload\": \"\"}", "\"\"", ""},
        {"{\"choice\": \"approve\"}", "{\"choice\":\"approve\"}", ""},
        {"{\"choice\": \"a\\\"b\", \"comment\": \"<b>\", \"id\": \"x\"}",
         "{\"choice\":\"a\\\"b\",\"comment\":\"<b>\"}", "x"},
        {"{\"choice\": \"\", \"comment\": \"\"}", "{\"choice\":\"\",\"comment\":\"\"}", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct signal_order signal = {.id = {0}};
        struct error error = {0};
        cr_assert(read_signal(cases[i].body, &signal, &error) == ERROR_OK, "%s: %s", cases[i].body,
                  error.message);
        cr_expect(text_equal(signal.payload, text_of(cases[i].payload)), "%s: %.*s", cases[i].body,
                  TEXT_ARG(signal.payload));
        cr_expect(text_equal(signal.id, text_of(cases[i].id)), "%s", cases[i].body);
        cr_expect_eq(signal.groups.count, 0);
    }
}

Test(signal_json, says_what_is_wrong)
{
    static const struct {
        const char *body;
        const char *why;
    } cases[] = {
        {"{}", "payload: expected any JSON value, or a choice in place of it"},
        {"{\"id\": \"x\"}", "payload: expected any JSON value"},
        {"{\"payload\": 1, \"choice\": \"a\"}", "payload, choice: expected one of them"},
        {"{\"payload\": 1, \"comment\": \"a\"}", "comment: expected with a choice"},
        {"{\"choice\": 1}", "choice"},
        {"{\"choise\": \"a\"}", "choice"},
        {"{\"choice\": \"a\", \"groups\": [\"managers\"]}", "groups"},
        {"{\"choice\": \"a\", \"submitted_by\": \"ann\"}", "submitted_by"},
        {"{\"payload\": 1, \"reply_to\": \"orders.replies.a\"}", "reply_to"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct signal_order signal = {.id = {0}};
        struct error error = {0};
        cr_expect(read_signal(cases[i].body, &signal, &error) == ERROR_REJECT, "%s", cases[i].body);
        cr_expect(strstr(error.message, cases[i].why) != NULL, "%s: %s", cases[i].body,
                  error.message);
    }
}

Test(signal_json, has_a_limit)
{
    size_t size = SIGNAL_BYTES_MAX + 64;
    char *body = malloc(size);
    struct signal_order signal = {.id = {0}};
    struct error error = {0};
    for (int over = 0; over <= 1; over++) {
        int comment = SIGNAL_BYTES_MAX - (int)strlen("{\"choice\":\"a\",\"comment\":\"\"}") + over;
        int begun = snprintf(body, size, "{\"choice\":\"a\",\"comment\":\"");
        memset(body + begun, 'x', (size_t)comment);
        snprintf(body + begun + comment, size - (size_t)(begun + comment), "\"}");
        cr_expect_eq(read_signal(body, &signal, &error), over == 0 ? ERROR_OK : ERROR_REJECT, "%s",
                     error.message);
    }
    cr_expect(strstr(error.message, "longer than 65536 bytes") != NULL, "%s", error.message);
    free(body);
}
