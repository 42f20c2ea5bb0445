/* SPDX-License-Identifier: Apache-2.0 */
/* Each value has one canonical text, however it was spelled and wherever it was made; reading that
 * text gives the value again, damaged text is refused or canonical all the same, and trees of
 * jansson lose none of it. */
#include "base/heap_arena.h"
#include "platform/json_tree.h"
#include "tests/lib/seed.h"
#include "tests/property/json_random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { CASES = 20000 };

static struct heap_arena heap;

static struct text canonical_of(uint64_t seed, uint64_t style, struct json_spelling *spelling)
{
    struct text text = {0};
    struct json_problem problem = {0};
    spelling->dice = dice_of(style);
    json_random_spell(seed, spelling);
    struct text spelled = {spelling->text, spelling->size};
    cr_assert(json_canonical(spelled, JSON_RANDOM_SIZE, &heap.arena, &text, &problem),
              "%.*s: fault %d at %u", TEXT_ARG(spelled), problem.fault, problem.offset);
    return text;
}

static void expect_itself(struct text canonical)
{
    struct text again = {0};
    size_t used = heap.arena.used;
    cr_assert(json_canonical(canonical, canonical.size, &heap.arena, &again, NULL));
    cr_assert_eq(again.data, canonical.data);
    cr_assert_eq(again.size, canonical.size);
    cr_assert_eq(heap.arena.used, used);
}

/* Through a tree of jansson, which spells some texts in another way. */
static void expect_itself_through_a_tree(struct text canonical)
{
    struct text again = {0};
    json_t *list = json_tree_load(canonical, 0, NULL);
    if (canonical.data[0] != '{' && canonical.data[0] != '[') {
        cr_assert_null(list);
        return;
    }
    cr_assert_not_null(list, "%.*s", TEXT_ARG(canonical));
    char *printed = json_tree_print(list, JSON_COMPACT);
    cr_assert_not_null(printed);
    cr_assert(json_canonical(text_of(printed), JSON_RANDOM_SIZE, &heap.arena, &again, NULL));
    cr_assert(text_equal(again, canonical), "%.*s\n%s", TEXT_ARG(canonical), printed);
    json_decref(list);
    free(printed);
}

/* Whatever a reader is given: memory of its own, so that a sanitizer sees what is read too far. */
static void read_all_of(struct text bytes, uint64_t limit)
{
    char *copy = malloc((size_t)bytes.size + 1);
    cr_assert_not_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    struct json_walk walk = {.left = limit};
    struct json_value value = json_value_of((struct text){copy, bytes.size});
    struct json_items items;
    for (json_items_begin(&items, value); json_items_next(&items, &walk);) {
        struct text text = json_value_text(items.value, &walk);
        cr_assert(text.size <= bytes.size);
        cr_assert(walk.left <= limit);
    }
    cr_assert(!walk.spent || walk.left == 0);
    free(copy);
}

static void damage(struct dice *dice, struct json_spelling *spelling)
{
    struct text text = {0};
    for (uint32_t left = 1 + dice_roll(dice, 3); left > 0; left--) {
        uint32_t at = dice_roll(dice, spelling->size);
        uint32_t from = dice_roll(dice, spelling->size);
        spelling->text[at] =
            dice_percent(dice, 70) ? spelling->text[from] : (char)dice_roll(dice, 256);
    }
    struct text damaged = {spelling->text, spelling->size};
    if (dice_percent(dice, 30))
        damaged.size = dice_roll(dice, damaged.size + 1);
    read_all_of(damaged, dice_roll(dice, damaged.size + 10));
    if (json_canonical(damaged, JSON_RANDOM_SIZE, &heap.arena, &text, NULL))
        expect_itself(text);
}

static void run_case(uint64_t seed)
{
    static struct json_spelling first, second;
    struct dice dice = dice_of(~seed);
    heap_arena_init(&heap, 64 * 1024);
    struct text one = canonical_of(seed, dice_next(&dice), &first);
    struct text other = canonical_of(seed, dice_next(&dice), &second);
    cr_assert(text_equal(one, other), "%.*s\n%.*s", TEXT_ARG(one), TEXT_ARG(other));
    expect_itself(one);
    expect_itself_through_a_tree(one);
    struct json_writer writer;
    struct text written = {0};
    json_writer_init(&writer, JSON_RANDOM_SIZE, &heap.arena);
    json_random_write(seed, &writer);
    cr_assert(json_writer_done(&writer, &written));
    cr_assert(text_equal(one, written), "%.*s\n%.*s", TEXT_ARG(one), TEXT_ARG(written));
    json_random_check(seed, json_value_of(one));
    read_all_of(one, dice_roll(&dice, one.size + 1));
    damage(&dice, &first);
    heap_arena_deinit(&heap);
}

Test(json, has_one_text_for_each_value)
{
    uint64_t seed = seed_first();
    uint64_t cases = seed_cases(CASES);
    for (uint64_t i = 0; i < cases; i++) {
        seed_begin(seed + i);
        run_case(seed + i);
        seed_end();
    }
}

/* Numbers that are close to each other often are the same. */
static struct json_number small_number(struct dice *dice)
{
    struct json_number number = {.negative = dice_percent(dice, 50), .count = 1};
    number.digits[0] = (uint8_t)(1 + dice_roll(dice, 2));
    number.exponent = (int32_t)dice_roll(dice, 3) - 1;
    return number;
}

static struct text spelled(struct dice *dice, const struct json_number *number, char memory[128])
{
    struct text text = {memory, json_random_spell_number(dice, number, memory)};
    struct text canonical = {0};
    struct json_number read;
    cr_assert(json_canonical(text, JSON_RANDOM_SIZE, &heap.arena, &canonical, NULL), "%.*s",
              TEXT_ARG(text));
    cr_assert_eq(json_number_parse(canonical, &read), JSON_FAULT_NONE);
    cr_assert_eq(memcmp(&read, number, sizeof(read)), 0, "%.*s", TEXT_ARG(text));
    return canonical;
}

Test(json, has_different_texts_for_different_numbers)
{
    uint64_t seed = seed_first();
    uint64_t cases = seed_cases(CASES);
    for (uint64_t i = 0; i < cases; i++) {
        char one_memory[128], other_memory[128];
        struct dice dice = dice_of(seed + i);
        seed_begin(seed + i);
        heap_arena_init(&heap, 4096);
        struct json_number one = small_number(&dice), other = small_number(&dice);
        bool same = memcmp(&one, &other, sizeof(one)) == 0;
        struct text one_text = spelled(&dice, &one, one_memory);
        struct text other_text = spelled(&dice, &other, other_memory);
        cr_assert_eq(text_equal(one_text, other_text), same);
        one = json_random_number(&dice);
        spelled(&dice, &one, one_memory);
        heap_arena_deinit(&heap);
        seed_end();
    }
}
