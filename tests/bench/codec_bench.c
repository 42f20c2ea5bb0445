/* SPDX-License-Identifier: Apache-2.0 */
/* How long the codec takes: nanoseconds and bytes of each sample record. Best of several rounds. */
#include "base/arena.h"
#include "tests/unit/schemas/samples.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15, REPEATS = 20000, ARENA_SIZE = 1 << 20 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double encode_ns(struct codec *codec, const struct sample *sample, struct buffer *buffer)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < REPEATS; i++) {
            buffer->size = 0;
            codec_encode(codec, sample->kind, sample->record, buffer);
        }
        double spent = (now_ns() - start) / (double)REPEATS;
        best = spent < best ? spent : best;
    }
    return best;
}

static double decode_ns(struct codec *codec, struct text bytes, bool borrow, void *memory)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < REPEATS; i++) {
            struct arena arena;
            struct record record;
            struct error error;
            arena_init(&arena, memory, ARENA_SIZE);
            enum error_class class = codec_decode(codec, bytes, borrow, &arena, &record, &error);
            assert(class == ERROR_OK);
        }
        double spent = (now_ns() - start) / (double)REPEATS;
        best = spent < best ? spent : best;
    }
    return best;
}

int main(void)
{
    void *memory = malloc(ARENA_SIZE);
    assert(memory != NULL);
    double start = now_ns();
    struct codec *codec = codec_new();
    printf("codec_new %.1f ms\n", (now_ns() - start) / 1e6);
    printf("%-20s %8s %8s %8s %8s\n", "record", "bytes", "encode", "decode", "borrow");
    for (uint32_t i = 0; i < sample_count; i++) {
        struct buffer buffer = {0};
        double encoding = encode_ns(codec, &samples[i], &buffer);
        struct text bytes = {(const char *)buffer.data, (uint32_t)buffer.size};
        printf("%-20s %8u %5.0f ns %5.0f ns %5.0f ns\n", samples[i].name, bytes.size, encoding,
               decode_ns(codec, bytes, false, memory), decode_ns(codec, bytes, true, memory));
        buffer_deinit(&buffer);
    }
    codec_free(codec);
    free(memory);
    return 0;
}
