/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_digest.h"

#include "schemas/avro/codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* FNV-1a, 64 bits. */
#define DIGEST_BASIS UINT64_C(14695981039346656037)
#define DIGEST_PRIME UINT64_C(1099511628211)

static uint64_t value = DIGEST_BASIS;
static uint64_t count;

static bool is_wanted(void)
{
    static int wanted = -1;
    if (wanted < 0)
        wanted = getenv("REEVE_PROPERTY_DIGEST") != NULL;
    return wanted == 1;
}

void digest_add(const struct decision *decision)
{
    static struct codec *codec;
    static struct buffer bytes;
    if (!is_wanted())
        return;
    if (codec == NULL)
        codec = codec_new();
    bytes.size = 0;
    codec_encode(codec, RECORD_DECISION, decision, &bytes);
    for (size_t i = 0; i < bytes.size; i++)
        value = (value ^ (uint8_t)bytes.data[i]) * DIGEST_PRIME;
    count++;
}

void digest_print(void)
{
    if (is_wanted())
        printf("digest of %" PRIu64 " decisions: %016" PRIx64 "\n", count, value);
}
