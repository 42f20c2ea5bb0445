/* SPDX-License-Identifier: Apache-2.0 */
/* The data of random histories: small canonical JSON, with whole numbers, and texts without
 * escapes. What reads it here is not what the engine reads it with. */
#ifndef TESTS_PROPERTY_ENGINE_DATA_H
#define TESTS_PROPERTY_ENGINE_DATA_H

#include "base/arena.h"
#include "tests/property/engine_random.h"

/* The members that data mostly has: b a bool, big a long text, l a list of numbers, m a map with n
 * and t, n a number, t a text. */

/* An answer of a service: mostly a map; empty, null, or what stands for too large an answer. In the
 * arena. */
struct text data_answer(struct dice *dice, struct arena *arena);
/* An order's input: mostly a map; `big`: it may have a text that is too long for most places. */
struct text data_input(struct dice *dice, struct arena *arena, bool big);
/* The input with one of its members changed, added or gone: `member`, or any. In the arena. */
struct text data_amended(struct dice *dice, struct arena *arena, struct text input, char member);
/* One of the texts that data has, without quotes. */
enum { DATA_WORDS = 3 };
struct text data_word(struct dice *dice);
struct text data_word_at(uint32_t index);
/* What a signal brings: any data, null, or what is too large. */
struct text data_signal(struct dice *dice, struct arena *arena);
/* A text of that size, with its quotes. */
struct text data_long_text(uint32_t bytes, struct arena *arena);
/* What a step keeps of `bytes` that are too many. In the arena. */
struct text data_truncated(uint32_t bytes, struct arena *arena);
/* Whether it stands for an output that was too large. */
bool data_is_truncated(struct text json);

/* A place between the items of a list or a map. */
struct data_items {
    const char *at;
    const char *end;
    bool map;
    struct text name; /* of a member, without quotes */
    struct text value;
};

void data_items_begin(struct data_items *items, struct text container);
bool data_items_next(struct data_items *items);
/* The member of a map; no data: there is none, or no map. */
struct text data_member(struct text json, struct text name);

#endif
