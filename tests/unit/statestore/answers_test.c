/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are kept for their time, within a size limit, and survive kill -9. */
#include "statestore/answers.h"
#include "statestore/answers_series.h"
#include "statestore/store.h"
#include "tests/lib/seed.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START = 1000000, KEEP_MS = 3000 };

static struct answers *open_at(const char *path, uint64_t bytes_max, int64_t now)
{
    struct answers_options options = {.keep_ms = KEEP_MS, .bytes_max = bytes_max};
    struct answers *answers;
    struct error error;
    cr_assert(answers_open(path, &options, now, &answers, &error) == ERROR_OK, "%s", error.message);
    return answers;
}

static struct answers_key key_in(int series, int64_t position)
{
    struct answers_key key = {.position = position, .name = TEXT("order/Pay")};
    memcpy(key.series.bytes + 8, &series, sizeof(series));
    return key;
}

static void put_at(struct answers *answers, const struct answers_key *key, const char *value,
                   int64_t now)
{
    struct error error;
    answers_put(answers, key, text_of(value));
    cr_assert(answers_write(answers, now, &error) == ERROR_OK, "%s", error.message);
}

static void put(struct answers *answers, int number, const char *value, int64_t now)
{
    struct answers_key key = key_in(0, number);
    put_at(answers, &key, value, now);
}

static bool has_at(struct answers *answers, const struct answers_key *key, const char *value)
{
    struct text found;
    struct error error;
    cr_assert(answers_get(answers, key, &found, &error) == ERROR_OK, "%s", error.message);
    bool same = found.data != NULL && text_equal(found, text_of(value));
    cr_assert(same || found.data == NULL);
    store_row_free(found);
    return same;
}

static bool has(struct answers *answers, int number, const char *value)
{
    struct answers_key key = key_in(0, number);
    return has_at(answers, &key, value);
}

/* Looks at this position; true: it had to look into the store. */
static bool looks_up(struct answers *answers, int series, int64_t position)
{
    struct answers_key key = key_in(series, position);
    uint64_t before = answers_lookups(answers);
    cr_assert_not(has_at(answers, &key, "none has this value"));
    return answers_lookups(answers) > before;
}

Test(statestore_answers, looks_only_for_what_may_have_been_put)
{
    const char *path = kit_path(kit_folder(), "answers");
    struct answers *answers = open_at(path, 1 << 20, START);
    const int64_t positions[] = {5, 3, 9, -7};
    cr_assert_not(looks_up(answers, 1, 5));
    for (int i = 0; i < 4; i++) {
        struct answers_key key = key_in(1, positions[i]);
        put_at(answers, &key, "value", START + i * KEEP_MS / 2); /* in slices of their own */
    }
    for (int round = 0; round < 2; round++) {
        struct answers_key last = key_in(1, 9);
        struct answers_key other = {.series = last.series, .position = 9, .name = TEXT("other")};
        cr_assert(has_at(answers, &last, "value"), "round %d", round);
        cr_assert_not(has_at(answers, &other, "value"));
        cr_assert_not(looks_up(answers, 1, 10));
        cr_assert(looks_up(answers, 1, 4), "round %d", round);
        cr_assert_not(looks_up(answers, 0, -100), "another series");
        cr_assert_not(looks_up(answers, 2, -100), "another series");
        answers_close(answers);
        answers = open_at(path, 1 << 20, START + 3 * KEEP_MS / 2);
    }
    struct answers_key late = key_in(1, 30);
    struct error error;
    answers_put(answers, &late, text_of("late"));
    cr_assert_not(has_at(answers, &late, "late"), "not written yet");
    cr_assert(answers_write(answers, START + 3 * KEEP_MS / 2, &error) == ERROR_OK);
    cr_assert(has_at(answers, &late, "late"), "put before the series was looked for");
    answers_close(answers);
}

/* Whatever is put where, and whenever the process ends, what was written is found. */
Test(statestore_answers, finds_everything_in_random_histories)
{
    enum { SERIES = 5, POSITIONS = 64, STEPS = 4000 };
    static char model[SERIES][POSITIONS];
    const char *path = kit_path(kit_folder(), "answers");
    uint64_t seed = seed_first();
    seed_begin(seed);
    struct answers *answers = open_at(path, 1 << 24, START);
    memset(model, 0, sizeof(model));
    for (int i = 0; i < STEPS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        int series = (int)(seed >> 33) % SERIES;
        int position = (int)(seed >> 40) % POSITIONS;
        struct answers_key key = key_in(series, position - POSITIONS / 2);
        char value[2] = {(char)('a' + (seed >> 50) % 26), '\0'};
        if ((seed >> 58) % 8 == 0) {
            put_at(answers, &key, value, START);
            model[series][position] = value[0];
        } else if ((seed >> 56) % 200 == 0) {
            answers_close(answers);
            answers = open_at(path, 1 << 24, START);
        }
        value[0] = model[series][position];
        cr_assert_eq(has_at(answers, &key, value), value[0] != '\0');
    }
    answers_close(answers);
    seed_end();
}

Test(statestore_answers, finds_the_answers_of_very_many_series)
{
    struct error error;
    struct answers *answers = open_at(kit_path(kit_folder(), "answers"), 1 << 24, START);
    for (int i = 0; i <= ANSWERS_SERIES_MAX; i++) {
        struct answers_key key = key_in(i, 7);
        answers_put(answers, &key, text_of("value"));
    }
    cr_assert(answers_write(answers, START, &error) == ERROR_OK);
    for (int i = 0; i <= ANSWERS_SERIES_MAX; i += 97) {
        struct answers_key key = key_in(i, 7);
        cr_assert(has_at(answers, &key, "value"));
        cr_assert_not(looks_up(answers, i, 8));
    }
    answers_close(answers);
}

Test(statestore_answers, keeps_answers_for_their_time_and_then_forgets_them)
{
    const char *path = kit_path(kit_folder(), "answers");
    struct answers *answers = open_at(path, 1 << 20, START);
    for (int i = 0; i < 100; i++)
        put(answers, i, "value", START + i * 100);
    int64_t now = START + 99 * 100;
    for (int i = 0; i < 100; i++) {
        int64_t age = now - (START + i * 100);
        bool there = has(answers, i, "value");
        cr_assert(there || age >= KEEP_MS, "%d is %lld ms old", i, (long long)age);
        cr_assert(!there || age <= 2 * KEEP_MS, "%d is %lld ms old", i, (long long)age);
    }
    cr_assert_leq(answers_slices(answers), ANSWERS_SLICES_MAX);
    cr_assert_eq(answers_dropped_early(answers), 0);
    answers_close(answers);
    answers = open_at(path, 1 << 20, now);
    cr_assert(has(answers, 99, "value"));
    put(answers, 99, "newer", now);
    cr_assert(has(answers, 99, "newer"));
    answers_close(answers);
    answers_close(open_at(path, 1 << 20, now + 10 * KEEP_MS)); /* the clock jumps ahead */
    answers = open_at(path, 1 << 20, now + 20 * KEEP_MS);
    cr_assert(!has(answers, 99, "newer"), "forgotten when it was opened");
    answers_close(answers);
}

Test(statestore_answers, limits_its_size)
{
    const char *path = kit_path(kit_folder(), "answers");
    static char value[1000];
    struct answers *answers = open_at(path, 64 * 1024, START);
    memset(value, 'x', sizeof(value) - 1);
    for (int i = 0; i < 500; i++) {
        put(answers, i, value, START);
        cr_assert_leq(answers_bytes(answers), 64 * 1024 + 2 * sizeof(value));
    }
    cr_assert_leq(answers_slices(answers), ANSWERS_SLICES_MAX);
    cr_assert_gt(answers_dropped_early(answers), 0);
    cr_assert(has(answers, 499, value) && has(answers, 460, value) && !has(answers, 0, value));
    answers_close(answers);
}

Test(statestore_answers, keeps_answers_when_the_clock_goes_back)
{
    struct answers *answers = open_at(kit_path(kit_folder(), "answers"), 1 << 20, START);
    put(answers, 1, "a", START + KEEP_MS);
    put(answers, 2, "b", START - 10 * KEEP_MS);
    put(answers, 3, "c", START + KEEP_MS / 2);
    cr_assert(has(answers, 1, "a") && has(answers, 2, "b") && has(answers, 3, "c"));
    answers_close(answers);
}

/* Writes until it is killed; reports each number after writing it. */
static void write_for_ever(const char *path, int written)
{
    struct answers *answers = open_at(path, 1 << 20, START);
    for (int i = 0;; i++) {
        put(answers, i, "value", START + i / 10);
        cr_assert(write(written, &i, sizeof(i)) == (ssize_t)sizeof(i));
    }
}

Test(statestore_answers, survives_kill_9)
{
    const char *path = kit_path(kit_folder(), "answers");
    int written[2];
    int last = -1;
    cr_assert_eq(pipe(written), 0);
    pid_t child = fork();
    if (child == 0)
        write_for_ever(path, written[1]);
    while (last < 500)
        cr_assert(read(written[0], &last, sizeof(last)) == (ssize_t)sizeof(last));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct answers *answers = open_at(path, 1 << 20, START);
    for (int i = 0; i <= last; i++)
        cr_assert(has(answers, i, "value"), "%d of %d", i, last);
    answers_close(answers);
}

Test(statestore_answers, reports_damage)
{
    const char *path = kit_path(kit_folder(), "answers");
    struct answers_options options = {.keep_ms = KEEP_MS, .bytes_max = 1 << 20};
    struct answers *answers = open_at(path, 1 << 20, START);
    struct error error;
    char current[600];
    put(answers, 1, "a", START);
    answers_close(answers);
    snprintf(current, sizeof(current), "%s/CURRENT", path);
    FILE *file = fopen(current, "w");
    cr_assert_not_null(file);
    fputs("nonsense\n", file);
    fclose(file);
    cr_assert(answers_open(path, &options, START, &answers, &error) == ERROR_FATAL);
    cr_assert(store_has_failed(&error), "%s", error_name_of(&error));
    cr_assert(store_drop(path, &error) == ERROR_OK, "%s", error.message);
    answers = open_at(path, 1 << 20, START);
    cr_assert(!has(answers, 1, "a"));
    answers_close(answers);
}
