/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds the submission service, on the broker in memory, one record of its topic. Every
 * record leads to one command or one dead letter, and its partition goes on. The input is
 *   flags    1 the rest is a body of SubmitOrder, 2 of CancelOrder, which get their frames;
 *            4 a header over the limit of headers; 8 the key follows as a size and bytes;
 *            16 instead of all that, the rest is what a schema registry answers;
 *            224 (all three bits: it takes long) zeros behind it, over the limit of a record
 *   the key, if flag 8 is set; else the record has none
 *   the value */
#include "tests/fuzz/input.h"
#include "tests/lib/site.h"
#include "tests/unit/submission/stage.h"

#include <assert.h>
#include <stdlib.h>

enum {
    FLAG_ORDER = 1,
    FLAG_CANCEL = 2,
    FLAG_HEADER = 4,
    FLAG_KEY = 8,
    FLAG_ANSWER = 16,
    FLAG_LARGE = 224,
    INPUTS_PER_STAGE = 1000,
    TURNS_MAX = 4000,
    LARGE_BYTES = INPUT_BYTES_MAX + 1000,
    HEADER_BYTES = META_BYTES_MAX + 1
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct stage stage;
static uint32_t inputs;

static void begin(void)
{
    if (inputs++ % INPUTS_PER_STAGE != 0)
        return;
    if (inputs > 1)
        stage_close(&stage);
    stage_open(&stage, 1);
    stage_start(&stage, 0);
    while (stage.instances[0]->group == NULL)
        stage_turn(&stage, 100, 20);
    stage_rebalance(&stage);
}

static uint64_t count_of(const char *topic)
{
    return (uint64_t)site_ends(stage.kafka, topic, STAGE_COMMAND_PARTITIONS);
}

static void submit(uint8_t flags, struct text key, struct text rest)
{
    static uint8_t zeros[LARGE_BYTES];
    struct buffer value = {0};
    struct broker_header headers[2] = {{TEXT("small"), TEXT("1")},
                                       {TEXT("h"), {(const char *)zeros, HEADER_BYTES}}};
    if ((flags & FLAG_ORDER) != 0)
        fuzz_frame(&value, codec_fingerprint(stage.codec, RECORD_SUBMIT_ORDER));
    else if ((flags & FLAG_CANCEL) != 0)
        fuzz_frame(&value, codec_fingerprint(stage.codec, RECORD_CANCEL_ORDER));
    buffer_append(&value, rest.data, rest.size);
    if ((flags & FLAG_LARGE) == FLAG_LARGE)
        buffer_append(&value, zeros, sizeof(zeros));
    struct text bytes = {(const char *)value.data, (uint32_t)value.size};
    broker_memory_append_headers(stage.kafka, "p.submissions", 0, key, bytes, headers,
                                 (flags & FLAG_HEADER) != 0 ? 2 : 1);
    buffer_deinit(&value);
}

/* Whatever it holds, the codec learns it, or it is refused with a reason. */
static void answer(struct text json)
{
    static struct codec *codec;
    uint64_t fingerprint;
    struct error error = {0};
    if (codec == NULL)
        codec = codec_new();
    enum error_class class = schema_registry_read_schema(codec, 1, json, &fingerprint, &error);
    assert(class == ERROR_OK || error.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 64 * 1024)
        return 0;
    struct text rest = {(const char *)data + 1, (uint32_t)size - 1};
    if ((data[0] & FLAG_ANSWER) != 0) {
        answer(rest);
        return 0;
    }
    begin();
    struct text key = {0};
    if ((data[0] & FLAG_KEY) != 0) {
        uint32_t key_size = data[1] < rest.size - 1 ? data[1] : rest.size - 1;
        key = (struct text){rest.data + 1, key_size};
        rest = text_from(rest, 1 + key_size);
    }
    uint64_t before = count_of("p.commands") + count_of("p.dead-letters");
    submit(data[0], key, rest);
    uint32_t turns = 0;
    while (count_of("p.commands") + count_of("p.dead-letters") == before) {
        assert(turns++ < TURNS_MAX);
        stage_turn(&stage, 100, 20);
    }
    while (stage.instances[0]->in_flight_bytes > 0) {
        assert(turns++ < TURNS_MAX);
        stage_turn(&stage, 100, 20);
    }
    assert(count_of("p.commands") + count_of("p.dead-letters") == before + 1);
    return 0;
}
