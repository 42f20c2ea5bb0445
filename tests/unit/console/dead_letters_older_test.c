/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters that are older than those in the console's memory: listed from the topic, with what
 * was done to them. */
#include "services/console/dead_letters/index.h"
#include "tests/unit/console/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define BY "{\"by\": \"ann\", \"reason\": \"a test\"}"

enum { OLDER = 1300, COUNT = DEAD_LETTER_LIST_MAX + OLDER };

static void open_world(void)
{
    world = world_new(7, "A B");
    broker_memory_topic(world->kafka, "t.submissions", WORLD_PARTITIONS);
}

TestSuite(dead_letters_older, .init = open_world, .fini = close_world);

static void add(int32_t partition, const char *code)
{
    struct broker_record record = {.topic = "t.submissions",
                                   .partition = partition,
                                   .offset = 40,
                                   .key = TEXT("o-1"),
                                   .value = TEXT("junk")};
    struct dead_letter letter;
    dead_letter_build(&record, NULL, code, "it is wrong", &letter);
    broker_memory_append_headers(world->kafka, "t.dead-letters", partition, letter.key,
                                 letter.value, letter.headers, letter.header_count);
}

static void add_many(int32_t partition, int count)
{
    for (int i = 0; i < count; i++)
        add(partition, i % 100 == 7 ? "Rare" : "Common");
}

/* Until the console has read all of them. */
static void wait_for_open(int64_t count)
{
    for (int i = 0; i < 20000; i++) {
        json_t *body = world_get(world, 200, "/api/dead-letters?limit=1");
        bool complete =
            world_int(body, "open") == count && json_object_get(body, "incomplete") == NULL;
        json_decref(body);
        if (complete)
            return;
        world_turn(world);
    }
    cr_assert_fail("not all dead letters were read");
}

struct walk {
    uint32_t count; /* dead letters */
    uint32_t pages;
    uint32_t closed; /* not open */
    int64_t last[WORLD_PARTITIONS];
    char first_closed[64];
};

/* All pages. In each partition, the newest come first, and none comes twice. */
static struct walk walk(const char *query)
{
    struct walk walk = {.count = 0};
    char path[512];
    char cursor[256] = "";
    for (int i = 0; i < WORLD_PARTITIONS; i++)
        walk.last[i] = INT64_MAX;
    do {
        size_t i;
        json_t *letter;
        snprintf(path, sizeof(path), "/api/dead-letters?cursor=%s%s", cursor, query);
        json_t *body = world_get(world, 200, path);
        json_array_foreach(world_at(body, "dead_letters"), i, letter) {
            int64_t offset = world_int(letter, "offset");
            int64_t *last = &walk.last[world_int(letter, "partition")];
            cr_assert_lt(offset, *last, "%lld again", (long long)offset);
            *last = offset;
            walk.count++;
            if (strcmp(world_text(letter, "state"), "open") != 0 && walk.closed++ == 0)
                snprintf(walk.first_closed, sizeof(walk.first_closed), "%s %s",
                         world_text(letter, "id"), world_text(letter, "state"));
        }
        const json_t *next = world_at(body, "next");
        snprintf(cursor, sizeof(cursor), "%s", json_is_null(next) ? "" : json_string_value(next));
        json_decref(body);
        cr_assert_lt(++walk.pages, 1000);
    } while (cursor[0] != '\0');
    return walk;
}

static void check_all(void)
{
    struct walk all = walk("&limit=1000");
    cr_assert_eq(all.count, COUNT + 3, "%u", all.count);
    cr_assert_eq(all.last[1], 0);
    cr_assert_eq(all.closed, 0);
    cr_assert_eq(walk("&limit=1000&code=Rare").count, (COUNT + 92) / 100 + 1);
    cr_assert_eq(walk("&limit=3&code=Rare").count, (COUNT + 92) / 100 + 1);
    cr_assert_eq(walk("&limit=1000&since=2255-03-14").count, 0);
    cr_assert_eq(walk("&limit=1000&until=2255-03-14").count, COUNT + 3);
    cr_assert_eq(walk("&limit=1000&until=1970-01-02").count, 0);
    /* The first page does not read the topic, but says that there is more. */
    json_t *first = world_get(world, 200, "/api/dead-letters?code=None");
    cr_assert_eq(json_array_size(world_at(first, "dead_letters")), 0);
    cr_assert(json_is_string(world_at(first, "next")));
    json_decref(first);
    cr_assert_gt(walk("&code=None").pages, 1);
    cr_assert_eq(walk("&code=None").count, 0);
}

Test(dead_letters_older, are_listed_after_those_in_memory, .timeout = 120)
{
    world_open(world);
    add(0, "Rare");
    add(2, "Common");
    add(2, "Common");
    add_many(1, COUNT);
    wait_for_open(DEAD_LETTER_LIST_MAX);
    check_all();
    /* A console that begins with the newest ones only. */
    world_close(world);
    world_open(world);
    wait_for_open(DEAD_LETTER_LIST_MAX);
    check_all();
}

Test(dead_letters_older, are_known_as_resolved, .timeout = 120)
{
    world_open(world);
    add_many(1, COUNT);
    wait_for_open(DEAD_LETTER_LIST_MAX);
    json_decref(world_post(world, 200, "/api/dead-letters/1/5/discard", BY));
    json_decref(world_post(world, 409, "/api/dead-letters/1/5/discard", BY));
    cr_assert_eq(walk("&limit=1000").count, COUNT - 1);
    /* The resolution is among records that the next console does not follow. */
    add_many(1, DEAD_LETTER_LIST_MAX);
    world_close(world);
    world_open(world);
    wait_for_open(DEAD_LETTER_LIST_MAX);
    SHOWS(world_get(world, 200, "/api/dead-letters/1/5"), {"state", "unknown"});
    /* Far back at once: what is behind it is read first. */
    char cursor[DEAD_LETTER_CURSOR_SIZE];
    const struct dead_letter_cursor at = {INT64_MAX, 0, 0, true, 1, 7};
    dead_letter_cursor_encode(&at, cursor);
    char query[256];
    json_t *body = NULL;
    snprintf(query, sizeof(query), "/api/dead-letters?cursor=%s", cursor);
    for (int i = 0; i < 10; i++) {
        body = world_get(world, 200, query);
        if (json_array_size(world_at(body, "dead_letters")) > 0)
            break;
        snprintf(query, sizeof(query), "/api/dead-letters?cursor=%s", world_text(body, "next"));
        json_decref(body);
    }
    SHOWS(body, {"dead_letters", "[6]"}, {"dead_letters.0.id", "1:6"},
          {"dead_letters.1.id", "1:4"});
    struct walk all = walk("&limit=1000&all=1");
    cr_assert_eq(all.count, COUNT + DEAD_LETTER_LIST_MAX);
    cr_assert_eq(all.closed, 1);
    cr_assert_str_eq(all.first_closed, "1:5 discarded");
    json_decref(world_post(world, 409, "/api/dead-letters/1/5/discard", BY));
}

Test(dead_letters_older, cursors_are_read_strictly)
{
    static const char *const bad[] = {
        "1.2.3.",     "1.2.3.4",    "1.2.3.4.",           "1.2.3.4.5.6",
        "1.2.3.-4.5", "1.2.3.4.5 ", "1.2.3.99999999999.5"};
    struct dead_letter_cursor cursor;
    char text[DEAD_LETTER_CURSOR_SIZE];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_not(dead_letter_cursor_decode(text_of(bad[i]), &cursor), "%s", bad[i]);
    const struct dead_letter_cursor at = {INT64_MAX, INT32_MAX, INT64_MAX,
                                          true,      INT32_MAX, INT64_MAX};
    dead_letter_cursor_encode(&at, text);
    cr_assert(dead_letter_cursor_decode(text_of(text), &cursor));
    cr_assert(cursor.is_beyond);
    cr_assert_eq(cursor.older_partition, INT32_MAX);
    cr_assert_eq(cursor.before, INT64_MAX);
}

Test(dead_letters_older, states_take_bounded_memory)
{
    struct dead_letter_states *states = dead_letter_states_new(2);
    cr_assert(dead_letter_states_set(states, 1, 5, DEAD_LETTER_STATE_REPLAYED));
    cr_assert(dead_letter_states_set(states, 1, 5, DEAD_LETTER_STATE_DISCARDED));
    cr_assert(dead_letter_states_set(states, 1, 6, DEAD_LETTER_STATE_DISCARDED));
    cr_assert(dead_letter_states_set(states, 2, 5, DEAD_LETTER_STATE_DISCARDED));
    cr_assert_not(dead_letter_states_set(states, 1, 4096, DEAD_LETTER_STATE_DISCARDED));
    cr_assert_eq(dead_letter_states_get(states, 1, 5), DEAD_LETTER_STATE_REPLAYED);
    cr_assert_eq(dead_letter_states_get(states, 1, 6), DEAD_LETTER_STATE_DISCARDED);
    cr_assert_eq(dead_letter_states_get(states, 1, 7), DEAD_LETTER_STATE_OPEN);
    cr_assert_eq(dead_letter_states_get(states, 1, 4096), DEAD_LETTER_STATE_OPEN);
    dead_letter_states_clear(states, 1);
    cr_assert_eq(dead_letter_states_get(states, 1, 5), DEAD_LETTER_STATE_OPEN);
    cr_assert_eq(dead_letter_states_get(states, 2, 5), DEAD_LETTER_STATE_DISCARDED);
    cr_assert(dead_letter_states_set(states, 1, 4096, DEAD_LETTER_STATE_DISCARDED));
    dead_letter_states_free(states);
}
