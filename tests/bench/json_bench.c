/* SPDX-License-Identifier: Apache-2.0 */
/* How long JSON takes at 1 KiB and 256 KiB: checking text that is canonical, text that is not, and
 * what is made to take long; reading one member. Best of several rounds. */
#include "base/heap_arena.h"
#include "base/json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7, BYTES_A_ROUND = 4 * 1024 * 1024, TEXT_BYTES_MAX = 256 * 1024 };

static char memory[TEXT_BYTES_MAX + 4096];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- texts of about `size` bytes ---- */

static struct text finish(uint32_t size)
{
    assert(size <= sizeof(memory));
    return (struct text){memory, size};
}

/* An order: lines with names in order, or not, and with blanks. */
static struct text order_text(uint32_t size, bool canonical)
{
    static const char *const forms[] = {
        "{ \"sku\": \"shirt-%u\", \"quantity\": %u, \"unit_price\": 19.90 }, ",
        "{\"quantity\":%u,\"sku\":\"shirt-%u\",\"unit_price\":19.9},"};
    uint32_t at = (uint32_t)snprintf(memory, 100, "{\"customer\":\"c-7\",\"lines\":[");
    for (uint32_t i = 0; at + 100 < size; i++)
        at += (uint32_t)snprintf(memory + at, 100, forms[canonical], i, i);
    while (memory[at - 1] != '}')
        at--;
    at += (uint32_t)snprintf(memory + at, 100, "],\"total\":100.1}");
    return finish(at);
}

static struct text repeated(const char *open, uint32_t size, const char *piece, const char *close)
{
    uint32_t at = 0;
    at += (uint32_t)snprintf(memory, 100, "%s", open);
    while (at + strlen(piece) + strlen(close) < size)
        at += (uint32_t)snprintf(memory + at, 100, "%s", piece);
    at += (uint32_t)snprintf(memory + at, 100, "%s", close);
    return finish(at);
}

/* Names that have to be sorted, of which only the last bytes differ. */
static struct text names_text(uint32_t size, uint32_t name_size, char letter)
{
    uint32_t at = 1;
    memory[0] = '{';
    for (uint32_t i = 99999; at + name_size + 20 < size; i--) {
        memory[at++] = '"';
        for (uint32_t j = 0; j < name_size / 2; j++) {
            memory[at++] = letter;
            memory[at++] = letter;
        }
        at += (uint32_t)snprintf(memory + at, 20, "%05u\":0,", i);
    }
    memory[at - 1] = '}';
    return finish(at);
}

/* Each of 32 maps has to be sorted, and holds all the others. */
static struct text depth_text(uint32_t size)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < JSON_DEPTH_MAX - 1; i++)
        at += (uint32_t)snprintf(memory + at, 100, "{\"b\":");
    memory[at++] = '[';
    while (at + 500 < size)
        at += (uint32_t)snprintf(memory + at, 100, "1,");
    at += (uint32_t)snprintf(memory + at, 100, "1]");
    for (uint32_t i = 0; i < JSON_DEPTH_MAX - 1; i++)
        at += (uint32_t)snprintf(memory + at, 100, ",\"a\":0}");
    return finish(at);
}

/* ---- measuring ---- */

static void measure_check(const char *what, struct text json)
{
    struct heap_arena heap;
    struct text text = {0};
    double best = 1e18;
    uint32_t repeats = BYTES_A_ROUND / json.size;
    heap_arena_init(&heap, 2 * TEXT_BYTES_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (uint32_t i = 0; i < repeats; i++) {
            heap_arena_reset(&heap);
            bool good = json_canonical(json, UINT32_MAX, &heap.arena, &text, NULL);
            assert(good);
        }
        double spent = (now_ns() - start) / repeats;
        best = spent < best ? spent : best;
    }
    printf("%-28s %7u %7u %12.0f ns %8.0f MB/s\n", what, json.size, text.size, best,
           json.size / best * 1e3);
    heap_arena_deinit(&heap);
}

static void measure_member(const char *what, struct text json)
{
    double best = 1e18;
    uint32_t repeats = BYTES_A_ROUND / json.size;
    volatile bool found = false;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (uint32_t i = 0; i < repeats; i++) {
            struct json_walk walk = {.left = UINT64_MAX};
            struct json_number number;
            found = json_value_number(json_value_member(json_value_of(json), TEXT("total"), &walk),
                                      &number);
        }
        double spent = (now_ns() - start) / repeats;
        best = spent < best ? spent : best;
    }
    assert(found);
    printf("%-28s %7u %7s %12.0f ns %8.0f MB/s\n", what, json.size, "", best,
           json.size / best * 1e3);
}

int main(void)
{
    static const uint32_t sizes[] = {1024, TEXT_BYTES_MAX};
    printf("%-28s %7s %7s\n", "text", "bytes", "gives");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        measure_check("canonical order", order_text(sizes[i], true));
        measure_member("its last member", order_text(sizes[i], true));
        measure_check("order in another spelling", order_text(sizes[i], false));
    }
    measure_check("one text", repeated("\"", TEXT_BYTES_MAX, "plain text ", "\""));
    measure_check("UTF-8", repeated("\"", TEXT_BYTES_MAX, "\xe2\x82\xac", "\""));
    measure_check("escapes", repeated("\"", TEXT_BYTES_MAX, "\\u20ac", "\""));
    measure_check("canonical escapes", repeated("\"", TEXT_BYTES_MAX, "\\n", "\""));
    measure_check("lists", repeated("[", TEXT_BYTES_MAX, "[],", "[]]"));
    measure_check("numbers that grow", repeated("[", TEXT_BYTES_MAX, "1e39,", "1]"));
    measure_check("short names to sort", names_text(TEXT_BYTES_MAX, 0, 'a'));
    measure_check("long names to sort", names_text(TEXT_BYTES_MAX, 500, 'a'));
    measure_check("escaped names to sort", names_text(TEXT_BYTES_MAX, 500, '\\'));
    measure_check("32 maps to sort", depth_text(TEXT_BYTES_MAX));
    return EXIT_SUCCESS;
}
