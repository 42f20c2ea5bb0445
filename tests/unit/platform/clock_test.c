/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and the arena on the heap. */
#include "base/heap_arena.h"
#include "platform/clock.h"
#include "platform/exit_code.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Test(clock, advances_with_real_time)
{
    const struct clock *clock = clock_real();
    int64_t before_us = clock_mono_us(clock);
    cr_assert(clock_mono_us(clock) >= before_us);
    cr_assert(clock_mono_ms(clock) >= before_us / 1000);
    cr_assert(clock_wall_ms(clock) > INT64_C(1600000000000));
}

#ifdef REEVE_FAILPOINTS
Test(clock, moves_the_wall_clock_by_the_environment)
{
    cr_assert(setenv("REEVE_CLOCK_OFFSET_MS", "-86400000", 1) == 0);
    struct timespec now;
    cr_assert(clock_gettime(CLOCK_REALTIME, &now) == 0);
    int64_t expected_ms = (int64_t)now.tv_sec * 1000 - 86400000;
    int64_t got_ms = clock_wall_ms(clock_real());
    cr_assert(got_ms >= expected_ms && got_ms < expected_ms + 60000);
}

Test(clock, moves_the_wall_clock_by_a_file_that_changes)
{
    char path[] = "clock-offset-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(pwrite(fd, "-86400000               ", 24, 0), 24);
    cr_assert(setenv("REEVE_CLOCK_OFFSET_FILE", path, 1) == 0);
    int64_t before_ms = clock_wall_ms(clock_real());
    cr_assert_eq(pwrite(fd, "0                       ", 24, 0), 24);
    cr_assert_geq(clock_wall_ms(clock_real()), before_ms + 86400000);
    close(fd);
    unlink(path);
}
#endif

Test(clock, moves_a_manual_clock_only_when_advanced)
{
    struct clock_manual manual;
    clock_manual_init(&manual, 5000);
    int64_t mono_ms = clock_mono_ms(&manual.clock);
    cr_assert(clock_wall_ms(&manual.clock) == 5000);
    clock_manual_advance(&manual, 250);
    cr_assert(clock_wall_ms(&manual.clock) == 5250);
    cr_assert(clock_mono_ms(&manual.clock) == mono_ms + 250);
    cr_assert(clock_mono_us(&manual.clock) == (mono_ms + 250) * 1000);
}

Test(heap_arena, hands_out_zeroed_memory_over_many_resets)
{
    struct heap_arena heap;
    heap_arena_init(&heap, 1024);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) {
            uint64_t *numbers = ARENA_ARRAY(&heap.arena, uint64_t, 7);
            for (int k = 0; k < 7; k++)
                cr_assert(numbers[k] == 0);
            memset(numbers, 0xff, 7 * sizeof(uint64_t));
        }
        char *big = arena_bytes(&heap.arena, 5000);
        memset(big, 1, 5000);
        heap_arena_reset(&heap);
        cr_assert(heap.arena.used == 0);
    }
    heap_arena_deinit(&heap);
    heap_arena_deinit(&heap);
}

Test(heap_arena, settles_on_one_block)
{
    struct heap_arena heap;
    heap_arena_init(&heap, 1024);
    struct heap_block *kept = NULL;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++)
            arena_bytes(&heap.arena, 100);
        kept = heap.blocks;
        heap_arena_reset(&heap);
    }
    cr_assert(heap.blocks == kept, "the third round needed no new block");
    heap_arena_deinit(&heap);
}

Test(exit_code, derives_the_exit_code_from_the_error_class)
{
    struct error error = {0};
    cr_assert(exit_code_of(&error) == EXIT_CODE_OK);
    error_set(&error, CODE_CONFIG, "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_CONFIG);
    error_set(&error, CODE_USAGE, "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_USAGE);
    error_set(&error, CODE_NOT_PERMITTED, "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_NOT_PERMITTED);
    error_set(&error, CODE_INVALID_ORDER, "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_DATA);
    error_set_foreign(&error, ERROR_RETRY, "Broker", "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_UNAVAILABLE);
    error_set_foreign(&error, ERROR_FATAL, "Bug", "x");
    cr_assert(exit_code_of(&error) == EXIT_CODE_INTERNAL);
}
