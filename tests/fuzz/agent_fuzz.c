/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds an agent, on the broker in memory, what it does not make itself. The first byte
 * chooses what the others are:
 *   0  a record of the topic of its requests
 *   1  the same without the frame: a body of our StepRequest
 *   2  an HTTP answer to a call: flags, status LE2, body
 *   3  a row of its answer store
 *   4  the body of a callback
 *   5  a body of AgentHealth on the topic of agents, behind its key and a NUL
 *   6  the note of a committed offset
 * Whatever comes out is appended to the log, where the codec asserts that it fits the limits. */
#include "base/bytes.h"
#include "base/goods.h"
#include "platform/logger.h"
#include "replica/agents/agent_table.h"
#include "services/agent/answers/answer_row.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/core/core.h"
#include "services/agent/core/settled_note.h"
#include "services/agent/kinds/http_message.h"
#include "tests/fuzz/input.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>

enum { START_MS = 1000000, INPUTS_PER_SITE = 500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct agent *agent;
    struct agent_table *table;
    struct heap_arena scratch;
    struct http_result answer; /* to the next call; status 0 = none */
    uint32_t inputs;
};

static struct site site;

/* ---- the remote service ---- */

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    (void)ret_error;
    *ret_ctx = service;
    return ERROR_OK;
}

/* As the HTTP agent does, with the answer at hand. */
static void execute(void *ctx, struct agent_call *call)
{
    const char *headers[HTTP_MESSAGE_HEADERS + 1];
    struct http_message_outcome outcome;
    (void)ctx;
    heap_arena_reset(&site.scratch);
    struct arena *arena = &site.scratch.arena;
    struct text body = http_message_body(call->request, arena);
    http_message_headers(call->request, call->try_number, true, TEXT("http://x/"), arena, headers);
    assert(body.size > 0);
    if (site.answer.status == 0)
        site.answer.status = 200 + (int)(call->request->complete_by & 0x3ff);
    http_message_outcome(&site.answer, arena, &outcome);
    site.answer.status = 0;
    if (outcome.accepted && call->try_number % 2 == 0)
        agent_call_accept(call);
    else if (outcome.succeeded)
        agent_call_succeed(call, outcome.output);
    else
        agent_call_fail(call, &outcome.failure);
}

static const struct agent_ops ops = {
    .name = "pay", .start = start, .execute = execute, .compensate = execute};

/* ---- the site ---- */

static void settle(void)
{
    clock_manual_advance(&site.clock, 1);
    site_settle(site.kafka, site.service.loop);
}

static void open_site(void)
{
    struct error error;
    site = (struct site){.inputs = 0};
    clock_manual_init(&site.clock, START_MS);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, 1, "t.commands", "t.events", "t.dead-letters", "t.requests.pay",
                "t.agents", "t.schemas");
    heap_arena_init(&site.scratch, 64 * 1024);
    site.service =
        (struct service_context){.name = "agent", .instance_id = "a1", .clock = &site.clock.clock};
    simulated_service_open(&site.service, "t", NULL);
    struct broker *broker = broker_memory_new(site.kafka, "a1");
    enum error_class class = agent_new(&site.service, &ops, broker, &site.agent, &error);
    assert(class == ERROR_OK);
    settle();
    broker_memory_rebalance(site.kafka, "t.agent.pay");
    site.table = agent_table_follow(agent_cluster(site.agent), NULL, NULL);
    settle();
}

static void close_site(void)
{
    agent_table_free(site.table);
    agent_free(site.agent);
    simulated_service_close(&site.service);
    heap_arena_deinit(&site.scratch);
    broker_memory_cluster_free(site.kafka);
}

static void append(const char *topic, enum record_kind kind, struct text key, struct text body)
{
    struct buffer bytes = {.size = 0};
    if (kind > 0)
        fuzz_frame(&bytes, codec_fingerprint(agent_cluster(site.agent)->codec, kind));
    buffer_append(&bytes, body.data, body.size);
    broker_memory_append(site.kafka, topic, 0, key,
                         (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
}

/* ---- what is fed ---- */

#define T(literal)                   \
    {                                \
        literal, sizeof(literal) - 1 \
    }
static const struct goods goods = {.currency = T("GBP")};
static struct order_details details = {.order_id = T("A"),
                                       .customer = T("c"),
                                       .goods = &goods,
                                       .workflow = T("w"),
                                       .workflow_version = 1,
                                       .traceparent = T("00-0af7651916cd43dd8448eb211c80319c-"
                                                        "b7ad6b7169203331-01")};

static struct step_request usual_request(void)
{
    return (struct step_request){.order_id = TEXT("A"),
                                 .ref = {TEXT("Pay"), DIRECTION_DO, 1},
                                 .agent = TEXT("pay"),
                                 .action = TEXT("Pay"),
                                 .idempotency_key = TEXT("A/Pay/do/0"),
                                 .do_key = TEXT("A/Pay/do/0"),
                                 .complete_by = INT64_MAX,
                                 .order = &details,
                                 .decision_offset = 1,
                                 .order_version = 1};
}

static void feed_answer(struct text input)
{
    struct step_request request = usual_request();
    struct buffer bytes = {.size = 0};
    if (input.size < 3)
        return;
    uint8_t flags = (uint8_t)input.data[0];
    int status = (int)bytes_get_le(input.data + 1, 2) % 1000;
    site.answer = (struct http_result){.outcome = (enum http_outcome)(flags % HTTP_OUTCOME_COUNT),
                                       .timed_out = flags & 4,
                                       .body_cut = flags & 8,
                                       .retry_after_ms = flags & 16 ? flags * INT64_C(1000) : -1,
                                       .status = status + 1,
                                       .body = text_from(input, 3),
                                       .message = flags & 32 ? "reset \x01\xff" : ""};
    /* Each time another attempt: the agent remembers what it answered. */
    request.ref.attempt = 1 + site.inputs;
    request.decision_offset = (int64_t)site.inputs;
    request.order_version = 1 + site.inputs;
    codec_encode(agent_cluster(site.agent)->codec, RECORD_STEP_REQUEST, &request, &bytes);
    append("t.requests.pay", (enum record_kind)0, request.order_id,
           (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
    settle();
    site.answer.status = 0;
}

static void encode_report(const struct report_step *report)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = report->order_id};
    struct buffer bytes = {.size = 0};
    cmd.report_step = *report;
    codec_encode(agent_cluster(site.agent)->codec, RECORD_REPORT_STEP, &cmd, &bytes);
    buffer_deinit(&bytes);
}

static void feed_row(struct text row)
{
    struct step_request request = usual_request();
    struct attempt_answer answer;
    bool known = false;
    heap_arena_reset(&site.scratch);
    /* The row is of this request. */
    if (row.size >= 36) {
        memcpy(&request.claim_id, row.data + 4, sizeof(request.claim_id));
        memcpy(&request.decision_offset, row.data + 20, sizeof(int64_t));
        memcpy(&request.order_version, row.data + 28, sizeof(uint64_t));
    }
    if (answer_row_read(row, &request, &site.scratch.arena, &answer, &known) && known) {
        struct report_step report = {.order_id = request.order_id,
                                     .step = request.ref.step,
                                     .attempt = 1,
                                     .succeeded = answer.succeeded,
                                     .effect = answer.effect,
                                     .output = answer.output,
                                     .error_name = answer.error_name,
                                     .error_message = answer.error_message,
                                     .agent = TEXT("pay")};
        encode_report(&report);
        char memory[ANSWER_ROW_BYTES_MAX];
        struct text again = answer_row_write(&request, &answer, memory);
        assert(again.size == row.size);
    }
}

static void feed_callback(struct text body)
{
    struct agent_callback_body parsed;
    struct error error;
    heap_arena_reset(&site.scratch);
    if (body.size > AGENT_CALLBACK_BODY_MAX ||
        agent_callback_parse(body, &site.scratch.arena, &parsed, &error) != ERROR_OK)
        return;
    struct report_step report = {.order_id = TEXT("A"),
                                 .step = TEXT("Pay"),
                                 .attempt = 1,
                                 .succeeded = parsed.outcome == AGENT_CALLBACK_DONE,
                                 .effect = parsed.effect,
                                 .output = parsed.output,
                                 .error_name = parsed.error_name,
                                 .error_message = parsed.error_message,
                                 .agent = TEXT("pay")};
    encode_report(&report);
}

static void feed_health(struct text input)
{
    const char *nul = input.size > 0 ? memchr(input.data, 0, input.size) : NULL;
    if (nul == NULL)
        return;
    uint32_t size = (uint32_t)(nul - input.data);
    append("t.agents", RECORD_AGENT_HEALTH, (struct text){input.data, size},
           text_from(input, size + 1));
    settle();
}

static void feed_note(struct text input)
{
    char note[BROKER_NOTE_BYTES_MAX + 1] = "";
    struct settled_ranges ranges;
    struct agent_offsets offsets;
    if (input.size >= sizeof(note))
        return;
    memcpy(note, input.data, input.size);
    settled_note_read(note, 7, &ranges);
    agent_offsets_init(&offsets);
    agent_offsets_add(&offsets, 7);
    char again[SETTLED_NOTE_SIZE];
    settled_note_write(&offsets, &ranges, again);
    struct settled_ranges reread;
    settled_note_read(again, 7, &reread);
    assert(reread.count == ranges.count || strlen(again) + 50 > BROKER_NOTE_BYTES_MAX);
    for (uint32_t i = 0; i < reread.count; i++) {
        assert(reread.ranges[i].first == ranges.ranges[i].first);
        assert(settled_ranges_pass(&ranges, reread.ranges[i].last));
    }
    agent_offsets_deinit(&offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1 << 20)
        return 0;
    if (site.inputs++ == 0) {
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
        open_site();
        site.inputs = 1;
    }
    struct text rest = {(const char *)data + 1, (uint32_t)size - 1};
    switch (data[0] % 7) {
    case 0:
        append("t.requests.pay", (enum record_kind)0, TEXT("A"), rest);
        settle();
        break;
    case 1:
        append("t.requests.pay", RECORD_STEP_REQUEST, TEXT("A"), rest);
        settle();
        break;
    case 2:
        feed_answer(rest);
        break;
    case 3:
        feed_row(rest);
        break;
    case 4:
        feed_callback(rest);
        break;
    case 5:
        feed_health(rest);
        break;
    case 6:
        feed_note(rest);
        break;
    }
    if (site.inputs >= INPUTS_PER_SITE) {
        close_site();
        site.inputs = 0;
    }
    return 0;
}
