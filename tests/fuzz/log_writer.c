/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/log_writer.h"

#include "tests/fuzz/input.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <string.h>

static const char workflow[] = "T600000 A{c,r2,m20000} B{c,u1} C<-A,B{p} D<-C{e}";

/* ---- records ---- */

int64_t log_writer_end(const struct log_writer *writer, const char *topic)
{
    return site_end(writer->kafka, topic, 0);
}

static void begin_frame(struct log_writer *writer, enum record_kind kind)
{
    writer->bytes.size = 0;
    fuzz_frame(&writer->bytes, codec_fingerprint(writer->codec, kind));
}

static int64_t put(struct log_writer *writer, const char *topic, struct text key, struct text rest)
{
    buffer_append(&writer->bytes, rest.data, rest.size);
    struct text value = {(const char *)writer->bytes.data, (uint32_t)writer->bytes.size};
    return broker_memory_append(writer->kafka, topic, 0, key, value);
}

int64_t log_writer_put(struct log_writer *writer, const char *topic, struct text key,
                       enum record_kind kind, struct text bytes)
{
    writer->bytes.size = 0;
    if (kind > 0)
        begin_frame(writer, kind);
    return put(writer, topic, key, bytes);
}

int64_t log_writer_send(struct log_writer *writer, const char *topic, struct text key,
                        enum record_kind kind, const void *record)
{
    return site_append(writer->kafka, writer->codec, topic, 0, key, kind, record);
}

/* ---- the scheduler ---- */

/* Its claim is the last one. */
static void claim(struct log_writer *writer)
{
    static uint8_t claims;
    struct claim record = {.instance = TEXT("fuzz"), .partition_count = 1};
    if (writer->log_end > 0 && writer->log_end == log_writer_end(writer, "p.events"))
        return;
    memset(&writer->claim_id, ++claims, sizeof(writer->claim_id));
    record.claim_id = writer->claim_id;
    writer->next_sequence = 0;
    log_writer_send(writer, "p.events", TEXT(""), RECORD_CLAIM, &record);
    writer->log_end = log_writer_end(writer, "p.events");
}

static struct order *order_of(struct log_writer *writer, struct text order_id)
{
    uint32_t number = order_id.size == 1 ? (uint32_t)(order_id.data[0] - 'A') : LOG_WRITER_ORDERS;
    return number < LOG_WRITER_ORDERS ? &writer->orders[number] : NULL;
}

/* The command is already in the log. */
static void decide(struct log_writer *writer, const struct command *cmd, int64_t offset)
{
    struct order *place = order_of(writer, cmd->order_id);
    struct decision decision;
    struct broker_record record;
    if (place == NULL)
        return;
    claim(writer);
    bool found = broker_memory_record(writer->kafka, "p.commands", 0, offset, &record);
    assert(found);
    struct decide_input input = {.now = clock_wall_ms(writer->clock),
                                 .margin_ms = LOG_WRITER_MARGIN_MS,
                                 .instance = TEXT("fuzz"),
                                 .workflow = writer->workflow,
                                 .command_offset = offset,
                                 .command_time = record.timestamp};
    engine_decide(place->version != 0 ? place : NULL, cmd, &input, &writer->scratch.arena,
                  &decision);
    decision.claim_id = writer->claim_id;
    decision.sequence = writer->next_sequence++;
    decision.emitted_through = -1;
    log_writer_send(writer, "p.events", cmd->order_id, RECORD_DECISION, &decision);
    writer->log_end = log_writer_end(writer, "p.events");
    if (decision_changes_order(&decision))
        order_apply_decision(place, &decision, &writer->heap.arena);
}

/* What the supervisor requested; what is not a command is passed over, as this file put it there.
 */
static void decide_requests(struct log_writer *writer)
{
    struct broker_record record;
    struct record decoded;
    struct error error;
    for (; broker_memory_record(writer->kafka, "p.commands", 0, writer->next_command, &record);
         writer->next_command++) {
        heap_arena_reset(&writer->scratch);
        if (codec_decode(writer->codec, record.value, false, &writer->scratch.arena, &decoded,
                         &error) == ERROR_OK)
            decide(writer, &decoded.command, writer->next_command);
    }
}

static void command(struct log_writer *writer, const struct command *cmd)
{
    decide_requests(writer);
    writer->next_command =
        1 + log_writer_send(writer, "p.commands", cmd->order_id, (enum record_kind)cmd->kind, cmd);
    decide(writer, cmd, writer->next_command - 1);
}

static void submit(struct log_writer *writer, struct text order_id)
{
    struct command cmd =
        site_submission(order_id, writer->workflow->name, writer->workflow->version);
    command(writer, &cmd);
}

static void report(struct log_writer *writer, struct text order_id, bool succeeded)
{
    const struct order *order = order_of(writer, order_id);
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = order_id};
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state != STEP_PROCESSING)
            continue;
        cmd.report_step = (struct report_step){.order_id = order_id,
                                               .step = step->name,
                                               .direction = step->direction,
                                               .attempt = step->attempt,
                                               .succeeded = succeeded,
                                               .agent = step->agent,
                                               .instance = TEXT("agent-1")};
        if (succeeded)
            cmd.report_step.output = TEXT("{}");
        else
            cmd.report_step.error_name = TEXT("Failed");
        command(writer, &cmd);
        return;
    }
}

void log_writer_schedule(struct log_writer *writer, uint8_t what, uint8_t number)
{
    static const struct text ids[LOG_WRITER_ORDERS] = {{"A", 1}, {"B", 1}, {"C", 1}, {"D", 1}};
    struct text order_id = ids[number % LOG_WRITER_ORDERS];
    heap_arena_reset(&writer->scratch);
    switch (what % 6) {
    case 0:
        submit(writer, order_id);
        break;
    case 1:
    case 2:
        report(writer, order_id, what % 6 == 1);
        break;
    case 3:
        decide_requests(writer);
        break;
    case 4:
    case 5: {
        struct command cmd = {.kind = what % 6 == 4 ? COMMAND_CANCEL_ORDER : COMMAND_PAUSE_ORDER,
                              .order_id = order_id};
        if (cmd.kind == COMMAND_CANCEL_ORDER)
            cmd.cancel_order = (struct cancel_order){.order_id = order_id, .reason = TEXT("why")};
        else
            cmd.pause_order = (struct pause_order){order_id, TEXT("ann"), TEXT("why")};
        command(writer, &cmd);
        break;
    }
    }
}

void log_writer_put_decision(struct log_writer *writer, struct text rest)
{
    uint8_t head[sizeof(writer->claim_id) + 30];
    size_t size = sizeof(writer->claim_id);
    struct broker_record record;
    claim(writer);
    int64_t offset = broker_memory_append(writer->kafka, "p.commands", 0, TEXT("A"), TEXT("x"));
    bool found = broker_memory_record(writer->kafka, "p.commands", 0, offset, &record);
    assert(found);
    memcpy(head, &writer->claim_id, size);
    size += fuzz_varint(head + size, writer->next_sequence++);
    size += fuzz_varint(head + size, offset);
    size += fuzz_varint(head + size, record.timestamp);
    begin_frame(writer, RECORD_DECISION);
    buffer_append(&writer->bytes, head, size);
    put(writer, "p.events", TEXT("A"), rest);
    writer->log_end = log_writer_end(writer, "p.events");
}

void log_writer_put_expiry(struct log_writer *writer, struct text rest)
{
    uint8_t head[sizeof(writer->claim_id) + 10];
    size_t size = sizeof(writer->claim_id);
    claim(writer);
    memcpy(head, &writer->claim_id, size);
    size += fuzz_varint(head + size, writer->next_sequence++);
    begin_frame(writer, RECORD_EXPIRY);
    buffer_append(&writer->bytes, head, size);
    put(writer, "p.events", TEXT("A"), rest);
    writer->log_end = log_writer_end(writer, "p.events");
}

/* ---- life ---- */

void log_writer_open(struct log_writer *writer, struct broker_memory_cluster *kafka,
                     struct codec *codec, const struct clock *clock)
{
    *writer = (struct log_writer){.kafka = kafka, .codec = codec, .clock = clock};
    heap_arena_init(&writer->scratch, 4096);
    heap_arena_init(&writer->heap, 4096);
    writer->workflow = workflow_of(&writer->heap.arena, workflow);
    claim(writer);
}

void log_writer_close(struct log_writer *writer)
{
    buffer_deinit(&writer->bytes);
    heap_arena_deinit(&writer->scratch);
    heap_arena_deinit(&writer->heap);
}
