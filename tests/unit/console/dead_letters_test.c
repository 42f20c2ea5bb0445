/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters over the API of a whole console: the list, one decoded, replays and discards. */
#include "base/base64.h"
#include "base/goods.h"
#include "platform/failpoint.h"
#include "platform/json_tree.h"
#include "services/console/dead_letters/dead_letters.h"
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define BY "{\"by\": \"ann\", \"reason\": \"the shop fixed it\""

static void open_world(void)
{
    world = world_new(7, "A B");
    broker_memory_topic(world->kafka, "t.submissions", WORLD_PARTITIONS);
    broker_memory_topic(world->kafka, "t.requests.bank", WORLD_PARTITIONS);
    world_open(world);
}

TestSuite(dead_letters, .init = open_world, .fini = close_world);

/* ---- dead letters ---- */

struct sample {
    const char *topic;
    const char *code;
    struct text key;
    struct text value;
    struct broker_header header;
};

/* A dead letter in partition 1; returns its offset. */
static int64_t add(const struct sample *sample)
{
    struct broker_record record = {.topic = sample->topic,
                                   .partition = 1,
                                   .offset = 40,
                                   .key = sample->key,
                                   .value = sample->value,
                                   .headers = {sample->header},
                                   .header_count = sample->header.name.size > 0};
    struct dead_letter letter;
    dead_letter_build(&record, NULL, sample->code, "it is wrong", &letter);
    return broker_memory_append_headers(world->kafka, "t.dead-letters", 1, letter.key, letter.value,
                                        letter.headers, letter.header_count);
}

static struct buffer order_bytes;

/* A SubmitOrder as it is on the wire, until the next one. */
static struct text order_of(const char *order_id, const char *currency)
{
    struct order_line lines[] = {{TEXT("85123A"), TEXT("T-LIGHT"), 6, {25500}}};
    struct order_details details = {.order_id = text_of(order_id),
                                    .customer = TEXT("17850"),
                                    .goods = &(struct goods){text_of(currency), lines, 1},
                                    .priority = PRIORITY_NORMAL,
                                    .workflow = TEXT("w"),
                                    .submitted_by = TEXT("shop")};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = details};
    order_bytes.size = 0;
    codec_encode(world->codec, RECORD_SUBMIT_ORDER, &cmd, &order_bytes);
    return (struct text){(const char *)order_bytes.data, (uint32_t)order_bytes.size};
}

static int64_t add_order(const char *order_id)
{
    return add(&(struct sample){.topic = "t.submissions",
                                .code = "InvalidOrder",
                                .key = text_of(order_id),
                                .value = order_of(order_id, "GBP"),
                                .header = {TEXT("trace"), TEXT("abc")}});
}

/* The list, once it has `count` entries. */
static json_t *list_of(const char *query, size_t count)
{
    char path[256];
    snprintf(path, sizeof(path), "/api/dead-letters%s", query);
    for (int i = 0; i < 100; i++) {
        json_t *body = world_get(world, 200, path);
        if (json_array_size(world_at(body, "dead_letters")) == count)
            return body;
        json_decref(body);
        world_turn(world);
    }
    cr_assert_fail("no %zu dead letters", count);
    return NULL;
}

static void check_count(const char *query, size_t count)
{
    json_decref(list_of(query, count));
}

static void check_error(json_t *body, const char *code, const char *part)
{
    cr_assert_str_eq(world_text(body, "code"), code);
    cr_assert(strstr(world_text(body, "detail"), part) != NULL, "%s", world_text(body, "detail"));
    json_decref(body);
}

static void check_text(const json_t *body, const char *path, const char *text)
{
    cr_assert_str_eq(world_text(body, path), text, "%s", path);
}

/* ---- tests ---- */

Test(dead_letters, lists_the_newest_first_with_what_they_are)
{
    add_order("o-1");
    add(&(struct sample){.topic = "t.commands", .code = "NotAvro", .value = TEXT("x\x1b[2J")});
    SHOWS(list_of("", 2), {"dead_letters.0.id", "1:1"}, {"dead_letters.0.from.topic", "t.commands"},
          {"dead_letters.0.order_id", "null"}, {"dead_letters.1.id", "1:0"},
          {"dead_letters.1.order_id", "o-1"}, {"dead_letters.1.code", "InvalidOrder"},
          {"dead_letters.1.message", "it is wrong"}, {"dead_letters.1.state", "open"},
          {"dead_letters.1.from.offset", "40"}, {"open", "2"}, {"next", "null"});
}

Test(dead_letters, filters_and_pages)
{
    for (int i = 0; i < 5; i++)
        add_order("o-1");
    add(&(struct sample){.topic = "t.commands", .code = "NotAvro", .value = TEXT("x")});
    json_decref(list_of("", 6));
    json_decref(list_of("?topic=submissions", 5));
    json_decref(list_of("?topic=t.commands", 1));
    json_decref(list_of("?code=NotAvro", 1));
    json_decref(list_of("?code=Other", 0));
    json_decref(list_of("?since=2255-03-14", 0));
    json_decref(list_of("?since=1970-01-02&until=2255-03-14", 6));
    json_decref(list_of("?until=1970-01-02", 0));
    json_t *page = list_of("?limit=4", 4);
    char query[128];
    snprintf(query, sizeof(query), "?limit=4&cursor=%s", world_text(page, "next"));
    json_t *rest = list_of(query, 2);
    check_text(rest, "dead_letters.1.id", "1:0");
    json_decref(page);
    json_decref(rest);
}

Test(dead_letters, decodes_a_value_and_shows_the_rest_as_it_is)
{
    add_order("o-1");
    check_count("", 1);
    json_t *body = world_get(world, 200, "/api/dead-letters/1/0?bytes=1");
    check_text(body, "value.record", "SubmitOrder");
    check_text(body, "value.json.order_id", "o-1");
    check_text(body, "value.json.lines.0.unit_price", "2.55");
    check_text(body, "key.text", "o-1");
    check_text(body, "headers.0.name", "trace");
    check_text(body, "headers.0.text", "abc");
    check_text(body, "state", "open");
    cr_assert(json_is_null(world_at(body, "not_replayable")));
    char bytes[4096];
    uint32_t size;
    cr_assert(base64_decode(text_of(world_text(body, "value.bytes")), bytes, sizeof(bytes), &size));
    cr_assert_eq(size, order_bytes.size);
    cr_assert_arr_eq(bytes, order_bytes.data, size);
    json_decref(body);
}

Test(dead_letters, shows_garbage_in_hex)
{
    add(&(struct sample){.topic = "t.submissions",
                         .code = "NotAvro",
                         .key = TEXT("\xff\x00\x1b"),
                         .value = TEXT("\x01\xfe\x1b[2J"),
                         .header = {TEXT("h\xff\x07"), TEXT("\xc3\x28")}});
    check_count("", 1);
    SHOWS(world_get(world, 200, "/api/dead-letters/1/0"), {"value.error.code", "NotAvro"},
          {"value.hex", "01fe1b5b324a"}, {"key.hex", "ff001b"}, {"headers.0.hex", "c328"},
          {"headers.0.text", "null"});
}

Test(dead_letters, replays_to_where_it_came_from)
{
    struct broker_record record;
    add_order("o-1");
    check_count("", 1);
    json_t *body = world_post(world, 200, "/api/dead-letters/1/0/replay", BY "}");
    int32_t partition = world_partition("o-1");
    check_text(body, "state", "replayed");
    check_text(body, "resolution.topic", "t.submissions");
    cr_assert_eq(world_int(body, "resolution.partition"), partition);
    cr_assert_eq(world_int(body, "resolution.offset"), 0);
    json_decref(body);
    cr_assert(broker_memory_record(world->kafka, "t.submissions", partition, 0, &record));
    cr_assert(text_equal(record.key, TEXT("o-1")));
    cr_assert(text_equal(
        record.value, (struct text){(const char *)order_bytes.data, (uint32_t)order_bytes.size}));
    cr_assert_eq(record.header_count, 1);
    cr_assert(text_equal(record.headers[0].name, TEXT("trace")));
    check_count("", 0);
    SHOWS(list_of("?all=1", 1), {"dead_letters.0.state", "replayed"},
          {"dead_letters.0.resolution.by", "ann"});
    check_error(world_post(world, 409, "/api/dead-letters/1/0/replay", BY "}"), "AlreadyResolved",
                "ann replayed it before: the shop fixed it");
}

Test(dead_letters, replays_the_operators_value)
{
    struct broker_record record;
    add(&(struct sample){.topic = "t.submissions", .code = "NotAvro", .value = TEXT("junk")});
    check_count("", 1);
    SHOWS(world_post(
              world, 200, "/api/dead-letters/1/0/replay",
              BY ", \"json\": {\"order_id\": \"o-7\", \"customer\": \"1\", \"currency\": \"GBP\", "
                 "\"workflow\": \"w\", \"content_hash\": null, \"lines\": [{\"sku\": \"1\", "
                 "\"quantity\": 1, \"unit_price\": \"2.55\"}]}}"),
          {"resolution.corrected", "true"});
    cr_assert(
        broker_memory_record(world->kafka, "t.submissions", world_partition("o-7"), 0, &record));
    cr_assert(text_equal(record.key, TEXT("o-7")));
}

/* A dead letter of this value, replayed with the body to the partition of o-1; the texts of the new
 * record are in `heap`. */
static struct record replayed_as(struct heap_arena *heap, struct text value, const char *body,
                                 int64_t offset)
{
    char path[64];
    struct broker_record replayed;
    struct record decoded;
    struct error error;
    int32_t partition = world_partition("o-1");
    add(&(struct sample){.topic = "t.commands", .code = "X", .value = value});
    check_count("", 1);
    snprintf(path, sizeof(path), "/api/dead-letters/1/%lld/replay", (long long)offset);
    json_decref(world_post(world, 200, path, body));
    heap_arena_reset(heap);
    int64_t high = site_end(world->kafka, "t.commands", partition);
    cr_assert(broker_memory_record(world->kafka, "t.commands", partition, high - 1, &replayed));
    cr_assert_eq(codec_decode(world->codec, replayed.value, false, &heap->arena, &decoded, &error),
                 ERROR_OK);
    return decoded;
}

/* No operator acts in the name of another, nor in that of an application's token. */
Test(dead_letters, signs_the_operators_value_with_the_operators_name)
{
    struct heap_arena heap;
    heap_arena_init(&heap, 4096);
    struct record record = replayed_as(
        &heap, TEXT("junk"),
        BY ", \"record\": \"CancelOrder\", \"json\": {\"order_id\": \"o-1\", \"by\": \"bob\", "
           "\"reason\": \"bob wants it\", \"submitted_by\": \"web\"}}",
        0);
    cr_assert(text_equal(record.command.cancel_order.by, TEXT("ann")));
    cr_assert(text_equal(record.command.cancel_order.reason, TEXT("bob wants it")));
    cr_assert(text_equal(record.command.cancel_order.submitted_by, TEXT("")));
    record = replayed_as(
        &heap, TEXT("junk"),
        BY
        ", \"record\": \"ReportStep\", \"json\": {\"order_id\": \"o-1\", \"step\": \"Pay\", "
        "\"direction\": \"do\", \"attempt\": 1, \"succeeded\": true, \"instance\": \"agent-7\"}}",
        2);
    cr_assert(text_equal(record.command.report_step.instance, TEXT("ann")));
    record = replayed_as(
        &heap, TEXT("junk"),
        BY ", \"json\": {\"order_id\": \"o-1\", \"currency\": \"GBP\", \"workflow\": \"w\", "
           "\"submitted_by\": \"web\"}}",
        4);
    cr_assert(text_equal(record.command.submit_order.submitted_by, TEXT("")));
    /* It was an application's own: it stays that application's. */
    record = replayed_as(&heap, order_of("o-1", "GBP"),
                         BY ", \"json\": {\"order_id\": \"o-1\", \"currency\": \"GBP\", "
                            "\"workflow\": \"w\", \"submitted_by\": \"web\"}}",
                         6);
    cr_assert(text_equal(record.command.submit_order.submitted_by, TEXT("shop")));
    heap_arena_deinit(&heap);
}

/* The JSON that GET shows, replayed as it is, becomes the same bytes. */
static void check_json(const char *topic, enum record_kind kind, const void *record, int64_t offset)
{
    char path[64];
    struct buffer value = {0};
    struct broker_record replayed;
    codec_encode(world->codec, kind, record, &value);
    struct text bytes = {(const char *)value.data, (uint32_t)value.size};
    add(&(struct sample){.topic = topic, .code = "X", .key = TEXT("o-1"), .value = bytes});
    snprintf(path, sizeof(path), "/api/dead-letters/1/%lld", (long long)offset);
    check_count("", 1);
    json_t *shown = world_get(world, 200, path);
    check_text(shown, "value.record", record_kind_name(kind));
    json_t *body = json_pack("{s:s, s:s, s:s, s:O}", "by", "ann", "reason", "r", "record",
                             record_kind_name(kind), "json", world_at(shown, "value.json"));
    char *text = json_tree_print(body, 0);
    strncat(path, "/replay", sizeof(path) - strlen(path) - 1);
    json_t *answer = world_post(world, 200, path, text);
    cr_assert(json_is_true(world_at(answer, "resolution.corrected")));
    cr_assert(broker_memory_record(world->kafka, topic, world_partition("o-1"), 0, &replayed));
    cr_assert(text_equal(replayed.value, bytes), "%s", text);
    cr_assert(text_equal(replayed.key, TEXT("o-1")));
    check_count("", 0);
    json_decref(answer);
    json_decref(body);
    json_decref(shown);
    free(text);
    buffer_deinit(&value);
}

Test(dead_letters, replays_json_of_every_kind)
{
    struct order_details details = {.order_id = TEXT("o-1"),
                                    .goods = &(struct goods){.currency = TEXT("GBP")},
                                    .workflow = TEXT("w")};
    struct step_output output = {TEXT("Pack"), TEXT("{\"parcel\":12345678901234567890}")};
    struct step_request request = {.order_id = TEXT("o-1"),
                                   .ref = {TEXT("Pay"), DIRECTION_UNDO, 2},
                                   .agent = TEXT("bank"),
                                   .action = TEXT("Refund"),
                                   .idempotency_key = TEXT("o-1/Pay/undo/0"),
                                   .complete_by = 7000,
                                   .order = &details,
                                   .outputs = &output,
                                   .output_count = 1,
                                   .claim_id = {{0xab, 1}},
                                   .decision_offset = 12,
                                   .order_version = 3};
    struct step_change change = {
        .step = TEXT("Pay"), .direction = DIRECTION_DO, .attempt = 1, .state = STEP_PROCESSED};
    struct status_update status = {.order_id = TEXT("o-1"),
                                   .kind = STATUS_STEP_CHANGED,
                                   .order_version = 3,
                                   .decided_at = 5,
                                   .command_partition = 1,
                                   .steps = &change,
                                   .step_count = 1};
    struct operator_alert alert = {
        .order_id = TEXT("o-1"), .raised = true, .code = TEXT("X"), .partition = 1};
    struct command cmd = {.kind = COMMAND_REPORT_STEP,
                          .report_step = {.order_id = TEXT("o-1"),
                                          .step = TEXT("Pay"),
                                          .attempt = 1,
                                          .succeeded = true,
                                          .output = TEXT("{}")}};
    broker_memory_topic(world->kafka, "t.replies.web", WORLD_PARTITIONS);
    broker_memory_topic(world->kafka, "t.alerts", WORLD_PARTITIONS);
    check_json("t.requests.bank", RECORD_STEP_REQUEST, &request, 0);
    check_json("t.replies.web", RECORD_STATUS_UPDATE, &status, 2);
    check_json("t.alerts", RECORD_OPERATOR_ALERT, &alert, 4);
    check_json("t.commands", RECORD_REPORT_STEP, &cmd, 6);
}

Test(dead_letters, refuses_replays_that_would_be_wrong)
{
    static char large[2 << 20];
    add(&(struct sample){.topic = "t.events", .code = "X", .value = TEXT("v")});
    add(&(struct sample){.topic = "t.leadership", .code = "X", .value = TEXT("v")});
    add(&(struct sample){
        .topic = "t.submissions", .code = "TooLong", .value = {large, sizeof(large)}});
    add(&(struct sample){.topic = "t.replies.gone", .code = "X", .value = TEXT("v")});
    add(&(struct sample){.topic = "t.submissions", .code = "Empty"});
    check_count("", 5);
    check_error(world_post(world, 409, "/api/dead-letters/1/0/replay", BY "}"), "NotReplayable",
                "only the owner of a partition may write");
    check_error(world_post(world, 409, "/api/dead-letters/1/1/replay", BY "}"), "NotReplayable",
                "no operator may write");
    check_error(world_post(world, 409, "/api/dead-letters/1/2/replay", BY "}"), "ValueCut",
                "65536 of 2097152 bytes");
    check_error(world_post(world, 409, "/api/dead-letters/1/3/replay", BY "}"), "UnknownTopic",
                "does not exist");
    check_error(world_post(world, 409, "/api/dead-letters/1/4/replay", BY "}"), "ValueCut",
                "empty");
    check_error(world_post(world, 400, "/api/dead-letters/1/2/replay", BY ", \"value\": \"eHg\"}"),
                "BadValue", "cannot be decoded");
    SHOWS(world_get(world, 200, "/api/dead-letters/1/2"), {"not_replayable", "~65536 of 2097152"},
          {"value.size", answer_number(2 << 20)});
    check_count("", 5);
}

Test(dead_letters, discards)
{
    add_order("o-1");
    check_count("", 1);
    SHOWS(world_post(world, 200, "/api/dead-letters/1/0/discard", BY "}"), {"state", "discarded"});
    check_count("", 0);
    check_error(world_post(world, 409, "/api/dead-letters/1/0/replay", BY "}"), "AlreadyResolved",
                "ann discarded it before");
    check_error(world_get(world, 404, "/api/dead-letters/1/1"), "UnknownDeadLetter",
                "not a dead letter");
}

Test(dead_letters, remembers_after_a_restart)
{
    add_order("o-1");
    add_order("o-2");
    check_count("", 2);
    json_decref(world_post(world, 200, "/api/dead-letters/1/0/discard", BY "}"));
    world_close(world);
    world_open(world);
    SHOWS(list_of("", 1), {"dead_letters.0.order_id", "o-2"});
    check_count("?all=1", 2);
}

/* By another console. */
static void discard_elsewhere(int64_t offset)
{
    struct dead_letter_resolution other = {.partition = 1,
                                           .offset = offset,
                                           .kind = DEAD_LETTER_DISCARDED,
                                           .by = TEXT("bob"),
                                           .resolved_at = 1};
    char key[32];
    snprintf(key, sizeof(key), "1:%lld", (long long)offset);
    site_append(world->kafka, world->codec, "t.dead-letters", 1, text_of(key),
                RECORD_DEAD_LETTER_RESOLUTION, &other);
}

static int64_t submissions(void)
{
    return site_ends(world->kafka, "t.submissions", WORLD_PARTITIONS);
}

/* The console gets the request first; then the broker answers one at a time, in any order. */
static json_t *post_step_by_step(int status, const char *path)
{
    world_ask(world, path, BY "}");
    for (int i = 0; i < 20; i++)
        loop_once(world->loop, 1);
    for (int i = 0; i < 200 && !world->answered; i++) {
        broker_memory_step(world->kafka);
        loop_once(world->loop, 0);
    }
    return world_answer(world, status);
}

/* It reads the topic to its end first. */
Test(dead_letters, replays_nothing_that_was_just_discarded_elsewhere)
{
    for (int64_t i = 0; i < 20; i++) {
        char path[64];
        int64_t offset = add_order("o-1");
        check_count("", 1);
        discard_elsewhere(offset);
        snprintf(path, sizeof(path), "/api/dead-letters/1/%lld/replay", (long long)offset);
        check_error(post_step_by_step(409, path), "AlreadyResolved", "bob discarded it before");
        cr_assert_eq(submissions(), 0);
    }
}

Test(dead_letters, a_replay_that_failed_can_be_repeated)
{
    add_order("o-1");
    check_count("", 1);
    broker_memory_set_partition_fault(world->kafka, "t.submissions", BROKER_MEMORY_ALL,
                                      PARTITION_FAILS_APPEND);
    check_error(world_post(world, 503, "/api/dead-letters/1/0/replay", BY "}"), "Unknown",
                "may or may not have been appended");
    broker_memory_set_partition_fault(world->kafka, "t.submissions", BROKER_MEMORY_ALL,
                                      PARTITION_REFUSES);
    check_error(world_post(world, 409, "/api/dead-letters/1/0/replay", BY "}"), "NotAuthorized",
                "does not take the record");
    check_count("", 1);
    broker_memory_clear_partition_faults(world->kafka);
    json_decref(world_post(world, 200, "/api/dead-letters/1/0/replay", BY "}"));
    cr_assert_eq(submissions(), 1);
    check_count("", 0);
}

/* Another console replays it after this one has looked: both append, the first resolution counts,
 * and the second operator learns of it. */
Test(dead_letters, tells_the_second_of_two_operators)
{
    add_order("o-1");
    check_count("", 1);
    broker_memory_set_partition_fault(world->kafka, "t.submissions", BROKER_MEMORY_ALL,
                                      PARTITION_HOLDS_ACKS);
    world_ask(world, "/api/dead-letters/1/0/replay", BY "}");
    int64_t high = 0;
    for (int i = 0; i < 1000 && high == 0; i++) {
        world_turn(world);
        high = site_end(world->kafka, "t.submissions", world_partition("o-1"));
    }
    cr_assert_eq(high, 1);
    discard_elsewhere(0);
    broker_memory_clear_partition_faults(world->kafka);
    check_error(world_answer(world, 409), "AlreadyResolved", "bob discarded it before");
    SHOWS(list_of("?all=1", 1), {"dead_letters.0.resolution.by", "bob"});
}

Test(dead_letters, refuses_bad_requests)
{
    static const struct {
        const char *path;
        const char *body;
    } bad[] = {
        {"/api/dead-letters?limit=0", NULL},
        {"/api/dead-letters?cursor=x", NULL},
        {"/api/dead-letters?cursor=1.2", NULL},
        {"/api/dead-letters?since=1969-12-31", NULL},
        {"/api/dead-letters?until=x", NULL},
        {"/api/dead-letters?since=2010-12-01&until=2010-12-01", NULL},
        {"/api/dead-letters?all=2", NULL},
        {"/api/dead-letters/x/0", NULL},
        {"/api/dead-letters/-1/0", NULL},
        {"/api/dead-letters/1/99999999999999999999", NULL},
        {"/api/dead-letters/1/0?bytes=9", NULL},
        {"/api/dead-letters/1/0/replay", "{}"},
        {"/api/dead-letters/1/0/replay", "[]"},
        {"/api/dead-letters/1/0/replay", "{\"by\": \"ann\"}"},
        {"/api/dead-letters/1/0/replay", "{\"by\": \"a\\u001b\", \"reason\": \"r\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"value\": 5}"},
        {"/api/dead-letters/1/0/replay", BY ", \"value\": \"***\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"value\": \"eA\", \"json\": {}}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": []}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": {}}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": {}, \"record\": \"StepRequest\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": {}, \"record\": \"Decision\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": {}, \"record\": \"Claim\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"json\": {}, \"record\": \"\\ud800\"}"},
        {"/api/dead-letters/1/0/replay", BY ", \"other\": 1}"},
        {"/api/dead-letters/1/0/discard", BY ", \"value\": \"eA\"}"},
    };
    add_order("o-1");
    check_count("", 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *body = bad[i].body == NULL ? world_get(world, 400, bad[i].path)
                                           : world_post(world, 400, bad[i].path, bad[i].body);
        json_decref(body);
    }
    json_decref(world_get(world, 404, "/api/dead-letters/1/77"));
    json_decref(world_get(world, 404, "/api/dead-letters/9/0"));
    json_decref(world_post(world, 404, "/api/dead-letters/1/77/discard", BY "}"));
    check_count("", 1);
}

Test(dead_letters, keeps_records_of_others_apart)
{
    struct broker_header header = {TEXT("x"), TEXT("y")};
    broker_memory_append_headers(world->kafka, "t.dead-letters", 1, TEXT("k"), TEXT("v"), &header,
                                 1);
    SHOWS(list_of("", 1), {"dead_letters.0.from.topic", "null"});
    check_error(world_post(world, 409, "/api/dead-letters/1/0/replay", BY "}"), "NotReplayable",
                "only be discarded");
    json_decref(world_post(world, 200, "/api/dead-letters/1/0/discard", BY "}"));
    check_count("", 0);
}
