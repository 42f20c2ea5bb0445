/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a newer version that has raised its limits (REEVE_DOUBLE_LIMITS), for test_newer.py.
 *
 *     schemas-newer FOLDER    the largest of some records to FOLDER/<name>.bin, with <name>.avsc */
#include "base/goods.h"
#include "base/heap_arena.h"
#include "schemas/avro/codec.h"

#include <assert.h>
#include <stdio.h>

#ifndef REEVE_DOUBLE_LIMITS
#error "it stands for a newer version"
#endif

static struct heap_arena heap;

static struct text filled(size_t size)
{
    char *text = arena_bytes(&heap.arena, size);
    memset(text, 'x', size);
    return (struct text){text, (uint32_t)size};
}

static void file_write(const char *folder, const char *name, const char *suffix, const void *data,
                       size_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix);
    FILE *file = fopen(path, "wb");
    assert(file != NULL);
    size_t written = fwrite(data, 1, size, file);
    assert(written == size);
    fclose(file);
}

static void put(const char *folder, enum record_kind kind, const void *record)
{
    struct codec *codec = codec_new();
    struct buffer buffer = {0};
    struct text avsc = codec_schema(kind);
    codec_encode(codec, kind, record, &buffer);
    file_write(folder, record_kind_name(kind), ".bin", buffer.data, buffer.size);
    file_write(folder, record_kind_name(kind), ".avsc", avsc.data, avsc.size);
    buffer_deinit(&buffer);
    codec_free(codec);
}

static struct order_details largest_order(void)
{
    static struct order_line lines[ORDER_LINES_MAX];
    static const struct goods goods = {TEXT_CONST("EUR"), lines, ORDER_LINES_MAX};
    static struct attribute attributes[ORDER_ATTRIBUTES_MAX];
    static char names[ORDER_ATTRIBUTES_MAX][8];
    for (uint32_t i = 0; i < ORDER_LINES_MAX; i++)
        lines[i] = (struct order_line){TEXT("sku"), TEXT(""), 1, {1}};
    lines[0].sku = filled(SKU_BYTES_MAX);
    lines[0].description = filled(DESCRIPTION_BYTES_MAX);
    for (uint32_t i = 0; i < ORDER_ATTRIBUTES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "a%u", i);
        attributes[i] = (struct attribute){text_of(names[i]), TEXT("v")};
    }
    attributes[0] =
        (struct attribute){filled(ATTRIBUTE_NAME_BYTES_MAX), filled(ATTRIBUTE_VALUE_BYTES_MAX)};
    return (struct order_details){.order_id = filled(ORDER_ID_BYTES_MAX),
                                  .customer = filled(CUSTOMER_BYTES_MAX),
                                  .goods = &goods,
                                  .attributes = attributes,
                                  .attribute_count = ORDER_ATTRIBUTES_MAX,
                                  .priority = PRIORITY_NORMAL,
                                  .workflow = filled(NAME_BYTES_MAX),
                                  .traceparent = filled(TRACEPARENT_BYTES_MAX),
                                  .input = filled(ORDER_INPUT_BYTES_MAX),
                                  .submitted_by = filled(WHO_BYTES_MAX)};
}

/* That of the first step has the limit of one, all of them that of an order. */
static struct text output_of(uint32_t step)
{
    return filled(step == 0 ? STEP_OUTPUT_BYTES_MAX
                            : (ORDER_OUTPUTS_BYTES_MAX - STEP_OUTPUT_BYTES_MAX) /
                                  (WORKFLOW_STEPS_MAX - 1));
}

int main(int argc, char **argv)
{
    static struct event events[DECISION_EVENTS_MAX];
    static struct step steps[WORKFLOW_STEPS_MAX];
    if (argc != 2) {
        fprintf(stderr, "usage: schemas-newer FOLDER\n");
        return 2;
    }
    heap_arena_init(&heap, 1024 * 1024);
    struct command submission = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = largest_order()};
    struct command report = {.kind = COMMAND_REPORT_STEP,
                             .report_step = {.order_id = TEXT("a"),
                                             .step = filled(NAME_BYTES_MAX),
                                             .attempt = 1,
                                             .output = filled(REPORT_OUTPUT_BYTES_MAX),
                                             .error_name = filled(ERROR_NAME_BYTES_MAX),
                                             .error_message = filled(MESSAGE_BYTES_MAX),
                                             .instance = filled(WHO_BYTES_MAX)}};
    for (uint32_t i = 0; i < DECISION_EVENTS_MAX; i++)
        events[i] = (struct event){
            .kind = EVENT_STEP_SUCCEEDED,
            .step_succeeded = {.ref = {TEXT("Pay"), DIRECTION_DO, 1}, .by = TEXT("x")}};
    events[0].step_succeeded.output = filled(STEP_OUTPUT_BYTES_MAX);
    struct decision decision = {
        .order_id = TEXT("a"), .events = events, .event_count = DECISION_EVENTS_MAX};
    for (uint32_t i = 0; i < WORKFLOW_STEPS_MAX; i++)
        steps[i] = (struct step){.name = filled(NAME_BYTES_MAX),
                                 .agent = filled(NAME_BYTES_MAX),
                                 .locked_by = filled(WHO_BYTES_MAX),
                                 .retries_used = {1, 2, 3, 4, 5, 6, 7, 8},
                                 .output = output_of(i),
                                 .error_message = filled(MESSAGE_BYTES_MAX)};
    struct statement statement = {.format = STATE_FORMAT,
                                  .order = {.details = largest_order(),
                                            .steps = steps,
                                            .step_count = WORKFLOW_STEPS_MAX,
                                            .reason = filled(MESSAGE_BYTES_MAX),
                                            .paused_by = filled(WHO_BYTES_MAX)}};
    put(argv[1], RECORD_SUBMIT_ORDER, &submission);
    put(argv[1], RECORD_REPORT_STEP, &report);
    put(argv[1], RECORD_DECISION, &decision);
    put(argv[1], RECORD_STATEMENT, &statement);
    heap_arena_deinit(&heap);
    return 0;
}
