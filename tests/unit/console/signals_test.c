/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by the console's API: the answer to each outcome, who is taken to send them, and the
 * orders that wait for them in lists. */
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define OF "/api/orders/o/signals/"
#define HOSTILE "</script><img src=x onerror='a(\"b\")'>"

static const char workflow[] =
    "Name: test\nVersion: 1\nTimeoutSeconds: 86400\nSteps:\n"
    "  - {Name: T, Agent: agent}\n"
    "  - Name: Approve\n"
    "    After: []\n"
    "    Await:\n"
    "      From: managers\n"
    "      Options: [approve, \"</b>it's \\\"no\\\"\"]\n"
    "      Question: \"</script><img src=x onerror='a(\\\"b\\\")'>${input.amount}?\"\n"
    "  - {Name: Count, After: [], Await: {}, Until: result > 1}\n"
    "  - {Name: Later, After: [T], Await: {}}\n";

static void open_with(const char *groups)
{
    world = world_new(11, "A");
    world_use_workflow(world, workflow);
    world->groups = groups;
    world->user = groups != NULL ? "ann" : NULL;
    world_submit(world, "o", "test");
    world_schedule(world);
    world_open(world);
    world_settle(world);
    world->schedules = true;
}

static void open_world(void)
{
    open_with("managers ann\nauditors ann bob\n");
}

TestSuite(console_signals, .init = open_world, .fini = close_world);

/* ---- outcomes ---- */

Test(console_signals, answers_what_the_scheduler_refuses)
{
    static const struct {
        const char *user;
        const char *path;
        const char *body;
        int status;
        const char *code;
        const char *part;
    } cases[] = {
        {"ann", "/api/orders/none/signals/Approve", "{\"choice\": \"approve\"}", 404,
         "UnknownOrder", "none"},
        {"ann", OF "Aprove", "{\"choice\": \"approve\"}", 404, "UnknownStep",
         "no Await Aprove; those that it has: Approve, Count, Later"},
        {"ann", OF "T", "{\"payload\": 1}", 404, "UnknownStep", "no Await T"},
        {"bob", OF "Approve", "{\"choice\": \"approve\"}", 403, "NotAllowed",
         "awaits a signal of managers, and bob is not known to belong to it"},
        {"ann", OF "Approve", "{\"choice\": \"perhaps\"}", 409, "BadPayload", "not \"perhaps\""},
        {"ann", OF "Approve", "{\"payload\": \"approve\"}", 409, "BadPayload",
         "takes {\"choice\": approve or"},
        {"ann", OF "Approve", "{\"payload\": {\"choice\": \"approve\", \"by\": \"eve\"}}", 409,
         "BadPayload", "takes {\"choice\": approve or"},
        {"ann", OF "Count", "{\"payload\": {\"n\": 1}}", 409, "BadPayload", "Until of step Count"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        world->user = cases[i].user;
        world_refuses(world, cases[i].status, cases[i].code, cases[i].path, cases[i].body,
                      cases[i].part);
    }
    /* As with operators' commands, the Decision is there. */
    world->user = "bob";
    SHOWS(world_post(world, 403, OF "Approve", "{\"choice\": \"approve\"}"),
          {"decision.events.0.kind", "CommandRejected"}, {"decision.command.kind", "SignalOrder"});
}

Test(console_signals, passes_a_step_with_a_choice_once)
{
    static const char body[] = "{\"choice\": \"</b>it's \\\"no\\\"\", \"id\": \"mail-1\","
                               " \"comment\": \"\\u001b[2J\\u202e</script>\\\"\"}";
    SHOWS(world_post(world, 200, OF "Approve", body), {"events.0.kind", "StepPassed"},
          {"events.0.data.output.choice", "</b>it's \"no\""},
          {"events.0.data.output.comment", "\x1b[2J\xe2\x80\xae</script>\""},
          {"events.0.data.output.by", "ann"}, {"events.0.data.signal_id", "mail-1"}, {"by", "ann"});
    SHOWS(world_post(world, 200, OF "Approve", body), {"events.0.kind", "CommandRejected"},
          {"events.0.data.code", "SignalRepeated"}, {"changed", "false"});
    world_refuses(world, 409, "TooLate", OF "Approve", "{\"choice\": \"approve\"}",
                  "step Approve is Processed");
}

Test(console_signals, keeps_one_early_signal)
{
    SHOWS(world_post(world, 200, OF "Later", "{\"payload\": [1.10]}"),
          {"events.0.kind", "SignalReceived"}, {"events.0.data.kept", "true"});
    world_refuses(world, 409, "AlreadySignalled", OF "Later", "{\"payload\": 2}",
                  "has a signal of ann");
    world_report(world, "o", "T", true);
    world_schedule(world);
    world_settle(world);
    SHOWS(world_get(world, 200, "/api/orders/o"), {"steps.3.state", "Processed"},
          {"steps.3.output", "[1]"});
}

Test(console_signals, records_signals_over_which_until_is_false)
{
    SHOWS(world_post(world, 200, OF "Count", "{\"payload\": 1, \"id\": \"a\"}"),
          {"events.0.kind", "SignalReceived"}, {"events.0.data.kept", "false"});
    SHOWS(world_post(world, 200, OF "Count", "{\"payload\": 2, \"id\": \"a\"}"),
          {"events.0.data.code", "SignalRepeated"});
    SHOWS(world_post(world, 200, OF "Count", "{\"payload\": 2, \"id\": \"b\"}"),
          {"events.0.kind", "StepPassed"});
}

Test(console_signals, refuses_more_than_a_step_may_have)
{
    struct command cmd = {.kind = COMMAND_SIGNAL_ORDER, .order_id = TEXT("o")};
    cmd.signal_order = (struct signal_order){
        .order_id = cmd.order_id, .step = TEXT("Count"), .payload = TEXT("0")};
    for (int i = 0; i < SIGNALS_MAX; i++)
        world_send(world, &cmd);
    world_schedule(world);
    world_settle(world);
    world_refuses(world, 409, "TooManySignals", OF "Count", "{\"payload\": 0}",
                  "has had 1000 signals; the limit is 1000");
}

Test(console_signals, comes_too_late_for_an_order_that_is_undone)
{
    json_decref(
        world_post(world, 200, "/api/orders/o/cancel", "{\"by\": \"x\", \"reason\": \"y\"}"));
    world_refuses(world, 409, "AlreadyEnded", OF "Approve", "{\"choice\": \"approve\"}",
                  "the order is ");
}

Test(console_signals, answers_a_dead_letter_with_its_code)
{
    world->kills = "NotACommand";
    world_refuses(world, 409, "NotACommand", OF "Count", "{\"payload\": 2}", "it \"fails\"");
}

/* ---- sizes ---- */

/* {"choice":"approve","comment":"xxx"} of that size, or {"payload":"xxx"}. New. */
static char *body_of(bool chooses, size_t size)
{
    const char *begin = chooses ? "{\"choice\":\"approve\",\"comment\":\"" : "{\"payload\":\"";
    char *body = malloc(size + 1);
    cr_assert(body != NULL && size > strlen(begin) + 2);
    memset(body, 'x', size);
    memcpy(body, begin, strlen(begin));
    memcpy(body + size - 2, "\"}", 3);
    return body;
}

static void post_sized(int status, const char *path, bool chooses, size_t size, const char *code,
                       const char *part)
{
    char *body = body_of(chooses, size);
    if (code != NULL)
        world_refuses(world, status, code, path, body, part);
    else
        json_decref(world_post(world, status, path, body));
    free(body);
}

Test(console_signals, bounds_payloads_and_bodies)
{
    const size_t around = strlen("{\"payload\":}");
    post_sized(400, OF "Later", false, around + SIGNAL_BYTES_MAX + 1, "BadRequest", "payload");
    post_sized(200, OF "Later", false, around + SIGNAL_BYTES_MAX, NULL, NULL);
    post_sized(400, OF "Approve", true, SIGNAL_BYTES_MAX + 1, "BadRequest",
               "together they are longer than 65536 bytes");
    /* With the name of the sender, which the output has as well. */
    post_sized(409, OF "Approve", true, SIGNAL_BYTES_MAX, "TooLarge", "the limit is 65536");
    post_sized(413, OF "Approve", true, SIGNAL_BODY_MAX + 1, NULL, NULL);
}

/* ---- bad input ---- */

Test(console_signals, names_what_is_wrong_in_a_body)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"{", ""},
        {"[]", ""},
        {"\"approve\"", ""},
        {"{}", "payload: expected any JSON value, or a choice in place of it"},
        {"{\"payload\": 1, \"choice\": \"a\"}", "payload, choice: expected one of them"},
        {"{\"payload\": 1, \"comment\": \"a\"}", "comment: expected with a choice"},
        {"{\"choice\": 1}", "choice"},
        {"{\"choice\": null}", "choice"},
        {"{\"choice\": \"a\", \"comment\": [\"b\"]}", "comment"},
        {"{\"choise\": \"a\"}", "choise"},
        {"{\"choice\": \"a\", \"choice\": \"b\"}", "choice"},
        {"{\"payload\": {\"a\": 1, \"a\": 2}}", "occurs twice"},
        {"{\"payload\": 1, \"groups\": [\"managers\"]}", "groups"},
        {"{\"payload\": 1, \"submitted_by\": \"ann\"}", "submitted_by"},
        {"{\"payload\": 1, \"reply_to\": \"t.replies.a\"}", "reply_to"},
        {"{\"payload\": 1, \"step\": \"Approve\"}", "step"},
        {"{\"payload\": 1, \"order_id\": \"p\"}", "order_id"},
        {"{\"payload\": 1, \"reason\": \"x\"}", "reason"},
        {"{\"payload\": 1, \"id\": 7}", "id"},
        {"{\"payload\": 1, \"id\": \"a\\u0007\"}", "id must be printable UTF-8"},
        {"{\"payload\": 1, \"id\": \"" LONG64 LONG64 "x\"}", "id"},
        {"{\"choice\": \"\xff\"}", ""},
        {"{\"payload\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
         ""},
    };
    int64_t before = site_end(world->kafka, "t.commands", world_partition("o"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        world_refuses(world, 400, "BadRequest", OF "Count", cases[i][0], cases[i][1]);
    cr_assert_eq(site_end(world->kafka, "t.commands", world_partition("o")), before,
                 "nothing was sent");
}

Test(console_signals, names_what_is_wrong_in_a_path)
{
    static const char *const steps[] = {"two%20words", "%3Cb%3E", "a%2Fb",
                                        "%0A",         "%FF",     LONG64 "x"};
    char path[256];
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        snprintf(path, sizeof(path), OF "%s", steps[i]);
        world_refuses(world, 400, "BadRequest", path, "{\"payload\": 1}", "the step must be");
    }
    world_refuses(world, 400, "BadRequest", "/api/orders/a%2Fb/signals/Count", "{\"payload\": 1}",
                  "order_id");
    world_refuses(world, 400, "BadRequest", OF "Count?group=managers", "{\"payload\": 1}",
                  "unknown parameter group");
    json_decref(world_post(world, 404, OF, "{\"payload\": 1}"));
    json_decref(world_get(world, 405, OF "Count"));
}

/* ---- who sends it ---- */

static struct signal_order sent_signal(void)
{
    struct broker_record record;
    struct record decoded;
    int32_t partition = world_partition("o");
    int64_t end = site_end(world->kafka, "t.commands", partition);
    cr_assert(broker_memory_record(world->kafka, "t.commands", partition, end - 1, &record));
    site_decode(world->codec, record.value, &world->heap.arena, &decoded);
    cr_assert_eq(decoded.command.kind, COMMAND_SIGNAL_ORDER);
    return decoded.command.signal_order;
}

Test(console_signals, takes_the_sender_from_the_server)
{
    json_decref(world_post(world, 200, OF "Count", "{\"payload\": 1, \"by\": \"eve\"}"));
    struct signal_order signal = sent_signal();
    cr_assert(text_equal(signal.by, TEXT("ann")));
    cr_assert_eq(signal.groups.count, 2);
    cr_assert(text_equal(signal.groups.items[0], TEXT("auditors")));
    cr_assert(text_equal(signal.groups.items[1], TEXT("managers")));
    cr_assert(text_empty(signal.submitted_by) && text_empty(signal.reply_to));
    world->user = "carol";
    json_decref(world_post(world, 200, OF "Count", "{\"payload\": 1, \"by\": \"ann\"}"));
    signal = sent_signal();
    cr_assert(text_equal(signal.by, TEXT("carol")));
    cr_assert_eq(signal.groups.count, 0);
}

static void open_without_users(void)
{
    open_with(NULL);
}

TestSuite(console_signals_of_unknown_users, .init = open_without_users, .fini = close_world);

Test(console_signals_of_unknown_users, says_in_the_body_who_sends_it)
{
    static const char *const bodies[] = {
        "{\"payload\": 1}",
        "{\"payload\": 1, \"by\": \"\"}",
        "{\"payload\": 1, \"by\": null}",
        "{\"payload\": 1, \"by\": [\"ann\"]}",
        "{\"payload\": 1, \"by\": \"a\\nb\"}",
        "{\"payload\": 1, \"by\": \"" LONG64 LONG64 "x\"}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        world_refuses(world, 400, "BadRequest", OF "Count", bodies[i], "by");
    SHOWS(world_post(world, 200, OF "Count", "{\"payload\": 2, \"by\": \"ann\"}"), {"by", "ann"});
    world_refuses(world, 403, "NotAllowed", OF "Approve",
                  "{\"choice\": \"approve\", \"by\": \"ann\"}", "ann is not known to belong to it");
}

/* ---- lists ---- */

/* The order, or nothing. */
static void expect_found(const char *query, bool found)
{
    char path[512];
    snprintf(path, sizeof(path), "/api/orders?%s", query);
    json_t *page = world_get(world, 200, path);
    cr_expect_eq(json_array_size(world_at(page, "orders")), found, "%s", query);
    cr_expect_str_eq(world_text(page, "sorted_by"), "changed", "%s", query);
    json_decref(page);
    snprintf(path, sizeof(path), "/api/orders/count?%s&by=state", query);
    json_t *count = world_get(world, 200, path);
    cr_expect_eq(world_int(count, "orders"), found, "%s", query);
    cr_expect_eq(world_int(count, "by_state.Processing.orders"), found, "%s", query);
    cr_expect(json_is_true(world_at(count, "exact")), "%s", query);
    json_decref(count);
}

Test(console_signals, finds_orders_by_what_they_wait_for)
{
    static const struct {
        const char *query;
        bool before; /* Approve has passed */
        bool after;
    } cases[] = {
        {"waiting_for=Approve", true, false},
        {"waiting_for=Appr%6Fve", true, false},
        {"waiting_for=approve", false, false},
        {"waiting_for=Count", true, true},
        {"waiting_for=T", false, false}, /* it runs */
        {"step=T", true, true},
        {"waiting_for=Later", false, false}, /* its turn has not come */
        {"waiting_for=%3Cb%3E", false, false},
        {"group=managers", true, false},
        {"group=Managers", false, false},
        {"group=manager", false, false},
        {"group=auditors", false, false},
        {"group=%FF", false, false},
        {"waiting_for=Approve&group=managers", true, false},
        {"waiting_for=Count&group=managers", false, false},
        {"waiting_for=T&group=managers", false, false},
        {"group=managers&state=Error", false, false},
        {"group=&waiting_for=", true, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_found(cases[i].query, cases[i].before);
    SHOWS(world_get(world, 200, "/api/orders?group=managers&customer=17850"),
          {"orders.0.waiting_for.0.step", "Approve"}, {"orders.0.waiting_for.0.group", "managers"},
          {"orders.0.waiting_for.0.question", HOSTILE "100.1?"},
          {"orders.0.waiting_for.0.options.1", "</b>it's \"no\""},
          {"orders.0.waiting_for.1.group", "null"});
    json_decref(world_post(world, 200, OF "Approve", "{\"choice\": \"approve\"}"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_found(cases[i].query, cases[i].after);
}
