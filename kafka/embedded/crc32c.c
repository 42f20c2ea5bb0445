/* SPDX-License-Identifier: Apache-2.0 */
/* See crc32c.h: eight bytes at a time by eight tables (Kounavis and Berry, 2005). */
#include "kafka/embedded/crc32c.h"

#include "base/bytes.h"

#include <pthread.h>

enum { SLICES = 8, VALUES = 256 };

static uint32_t tables[SLICES][VALUES];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    const uint32_t polynomial = 0x82f63b78; /* reflected */
    for (uint32_t i = 0; i < VALUES; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
        tables[0][i] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++) {
        for (uint32_t i = 0; i < VALUES; i++) {
            uint32_t crc = tables[slice - 1][i];
            tables[slice][i] = crc >> 8 ^ tables[0][crc & 0xff];
        }
    }
}

uint32_t crc32c(const void *data, size_t size)
{
    const uint8_t *at = data;
    uint32_t crc = UINT32_MAX;
    pthread_once(&tables_once, fill_tables);
    for (; size >= SLICES; size -= SLICES, at += SLICES) {
        uint64_t word = bytes_get_le(at, SLICES) ^ crc;
        crc = 0;
        for (int i = 0; i < SLICES; i++)
            crc ^= tables[SLICES - 1 - i][word >> (8 * i) & 0xff];
    }
    for (; size > 0; size--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}
