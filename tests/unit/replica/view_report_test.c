/* SPDX-License-Identifier: Apache-2.0 */
/* GET /stores: who may ask, and how often the digest is computed. */
#include "replica/service/service.h"
#include "replica/service/view_report.h"
#include "tests/unit/platform/http_server_kit.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct store_env *env;
static struct codec *codec;
static struct view *view;
static struct clock_manual clock_of_report;
static struct service_context service;
static struct view_report *report;

static void each(void *ctx, struct view_report *asked)
{
    (void)ctx;
    view_report_add(asked, 3, view);
}

static void fold_value(int64_t offset, struct text value)
{
    view_kit_fold(view, offset, value, NULL);
    view_kit_commit(view);
}

/* A record that is not reeve's: it moves the position, and changes nothing else. */
static void fold_one(int64_t offset)
{
    fold_value(offset, TEXT("x"));
}

static void fold_reset(int64_t offset, int64_t skipped)
{
    struct buffer bytes = {0};
    struct partition_reset reset = {.expected_offset = offset,
                                    .next_command_offset = -1,
                                    .has_skip = true,
                                    .skip = {skipped, skipped + 1},
                                    .by = TEXT("ann"),
                                    .reason = TEXT("another client wrote here"),
                                    .reset_at = 1};
    codec_encode(codec, RECORD_RESET, &reset, &bytes);
    fold_value(offset, (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
}

static void begin(void)
{
    http_kit_open();
    env = kit_env();
    codec = codec_new();
    struct view_options options = {.env = env,
                                   .codec = codec,
                                   .path = kit_path(kit_folder(), "view"),
                                   .cache_bytes = 2 * 2048};
    view = view_kit_open(&options);
    clock_manual_init(&clock_of_report, 1700000000000);
    service = (struct service_context){.name = "scheduler",
                                       .instance_id = "s-1",
                                       .clock = &clock_of_report.clock,
                                       .http = http_kit_server};
    report = view_report_route(&service, false, each, NULL);
}

static void end(void)
{
    http_kit_close();
    view_report_free(report);
    view_close(view);
    codec_free(codec);
    store_env_free(env);
}

TestSuite(view_report, .init = begin, .fini = end);

static const char *ask(const char *headers)
{
    char request[512];
    snprintf(request, sizeof(request), "GET /stores HTTP/1.1\r\n" HTTP_KIT_HOST "%s\r\n", headers);
    return http_kit_ask(request);
}

static void expect_position(int64_t position)
{
    char expected[64];
    snprintf(expected, sizeof(expected), "\"next_event_offset\":%lld,", (long long)position);
    const char *answer = ask("");
    cr_assert(http_kit_starts(answer, "HTTP/1.1 200"), "%s", answer);
    cr_assert_not_null(strstr(answer, expected), "%s", answer);
}

Test(view_report, refuses_other_sites)
{
    static const char *const headers[] = {
        "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n",
        "Origin: http://elsewhere.example\r\n", "Origin: null\r\n"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        const char *answer = ask(headers[i]);
        cr_assert(http_kit_starts(answer, "HTTP/1.1 403"), "%s: %s", headers[i], answer);
    }
    const char *answer = http_kit_ask("GET /stores HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    cr_assert(!http_kit_starts(answer, "HTTP/1.1 200"), "%s", answer);
}

Test(view_report, answers_its_own_pages_and_clients_without_a_browser)
{
    static const char *const headers[] = {"", "Sec-Fetch-Site: same-origin\r\n",
                                          "Sec-Fetch-Site: none\r\n",
                                          "Origin: http://localhost\r\n"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        const char *answer = ask(headers[i]);
        cr_assert(http_kit_starts(answer, "HTTP/1.1 200"), "%s: %s", headers[i], answer);
    }
}

/* However often it is asked: the answer is that of an offset, and stays right. */
Test(view_report, computes_the_digest_at_most_once_a_second)
{
    fold_one(0);
    expect_position(1);
    fold_one(1);
    clock_manual_advance(&clock_of_report, 999);
    expect_position(1);
    clock_manual_advance(&clock_of_report, 1);
    expect_position(2);
}

/* What it holds then is not what the log says to a reader that does not know of the Reset yet. */
Test(view_report, tells_no_digest_until_the_reset_for_which_the_log_is_folded_again)
{
    struct checkpoint skips = admission_begin();
    admission_learn_skip(&skips, &(struct skip_range){1, 2, 3});
    view_set_skips(view, &skips);
    for (int64_t offset = 0; offset < 3; offset++) {
        fold_one(offset);
        const char *answer = ask("");
        cr_expect_null(strstr(answer, "\"digest\""), "%s", answer);
    }
    fold_reset(3, 1);
    cr_expect_not_null(strstr(ask(""), "\"digest\""));
    expect_position(4);
}
