/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: what a store and a log may hold about one order, and the engine on top of it. The
 * input is a list of
 *     what (1 byte), size (2 bytes, little-endian), a body of one of our schemas
 * where `what` (modulo 12) is 0 for the order's row, 1 for a Decision of the log, and 2 to 11 for a
 * command to be decided. What passes order_problem() and order_apply_problem() must not abort. */
#include "base/bytes.h"
#include "base/heap_arena.h"
#include "engine/engine.h"
#include "schemas/avro/codec.h"
#include "tests/lib/engine_workflow.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHATS = 12, ENTRIES_MAX = 32 };

static struct codec *codec;
static struct heap_arena lasting;
static const struct workflow *workflow;

static bool decode(enum record_kind kind, struct text body, struct arena *arena,
                   struct record *ret_record)
{
    uint64_t fingerprint = codec_fingerprint(codec, kind);
    struct text bytes = {arena_bytes(arena, body.size + 10), body.size + 10};
    char *at = (char *)(uintptr_t)bytes.data;
    at[0] = (char)0xc3;
    at[1] = 0x01;
    bytes_put_le(at + 2, fingerprint, 8);
    if (body.size > 0)
        memcpy(at + 10, body.data, body.size);
    return codec_decode(codec, bytes, true, arena, ret_record, NULL) == ERROR_OK;
}

static void follow(const struct decision *decision, struct order *order, struct arena *arena)
{
    struct effects effects;
    struct deadline deadlines[DEADLINES_MAX];
    order_apply_decision(order, decision, arena);
    const struct order *now = order->version > 0 ? order : NULL;
    effects_of(decision, 0, now, arena, &effects);
    if (now != NULL)
        deadlines_of(now, deadlines);
}

/* A view finds an order by the id of the Decision or the command. */
static bool is_about(const struct order *order, struct text order_id)
{
    return order == NULL || text_equal(order->details.order_id, order_id);
}

static void take(uint8_t what, struct text body, struct order *order, struct arena *arena)
{
    struct record record;
    const struct order *now = order->version > 0 ? order : NULL;
    if (what == 0) {
        if (decode(RECORD_ORDER_ROW, body, arena, &record) &&
            order_problem(&record.order_row) == NULL)
            *order = record.order_row;
    } else if (what == 1) {
        if (decode(RECORD_DECISION, body, arena, &record) && record.decision.event_count > 0 &&
            is_about(now, record.decision.order_id) &&
            order_apply_problem(now, &record.decision, arena) == NULL)
            follow(&record.decision, order, arena);
    } else if (decode((enum record_kind)(what - 1), body, arena, &record) &&
               is_about(now, record.command.order_id)) {
        struct decide_input input = {.now = INT64_C(1700000000000),
                                     .margin_ms = 1000,
                                     .instance = TEXT("scheduler-1"),
                                     .workflow = workflow};
        struct decision decision;
        record.command.kind = (enum command_kind)(what - 1);
        engine_decide(now, &record.command, &input, arena, &decision);
        follow(&decision, order, arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap_arena memory;
    struct order order = {0};
    if (codec == NULL) {
        codec = codec_new();
        heap_arena_init(&lasting, 16384);
        workflow = workflow_of(&lasting.arena, "T60000 A{c,r2} B{c,u1} C<-A,B{p} D<-C{e}");
    }
    heap_arena_init(&memory, 16384);
    for (int i = 0; i < ENTRIES_MAX && size >= 3; i++) {
        uint8_t what = data[0] % WHATS;
        size_t wanted = bytes_get_le(data + 1, 2);
        size_t taken = wanted < size - 3 ? wanted : size - 3;
        take(what, (struct text){(const char *)data + 3, (uint32_t)taken}, &order, &memory.arena);
        data += 3 + taken;
        size -= 3 + taken;
    }
    heap_arena_deinit(&memory);
    return 0;
}
