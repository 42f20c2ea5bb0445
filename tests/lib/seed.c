/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/seed.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
enum { FATAL_COUNT = sizeof(fatal) / sizeof(fatal[0]) };
/* A case that takes as long never ends. Less than the 300 seconds after which test-suite kills. */
enum { CASE_SECONDS_MAX = 240, KEPT_BYTES = 64 * 1024 * 1024 };

static char line[80];
static volatile sig_atomic_t under_way;
static struct sigaction before[FATAL_COUNT]; /* a sanitizer's handlers, for instance */

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? strtoull(value, NULL, 0) : otherwise;
}

uint64_t seed_first(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        drawn = (uint64_t)getpid();
    return from_environment("REEVE_SEED", drawn);
}

uint64_t seed_cases(uint64_t cases)
{
    return from_environment("REEVE_PROPERTY_CASES", cases);
}

/* Only what a signal handler may call. */
static void say_seed(void)
{
    static const char prefix[] = "failed: ";
    ssize_t written = write(STDERR_FILENO, prefix, sizeof(prefix) - 1);
    written = write(STDERR_FILENO, line, strlen(line));
    written = write(STDERR_FILENO, "\n", 1);
    (void)written;
}

/* A failed assertion of Criterion ends the process in the middle of the case. */
static void on_exit_of_the_test(void)
{
    if (under_way)
        say_seed();
}

/* The instruction at fault runs again, under the handler that was there before. */
static void on_signal(int signal_number)
{
    if (under_way)
        say_seed();
    for (int i = 0; i < FATAL_COUNT; i++)
        sigaction(fatal[i], &before[i], NULL);
    if (signal_number == SIGABRT || signal_number == SIGALRM)
        raise(signal_number);
}

void seed_begin(uint64_t seed)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    bool first = line[0] == '\0';
    snprintf(line, sizeof(line), "REEVE_SEED=%" PRIu64 " REEVE_PROPERTY_CASES=1", seed);
    under_way = true;
    alarm(CASE_SECONDS_MAX);
    if (first)
        atexit(on_exit_of_the_test);
    for (int i = 0; i < FATAL_COUNT && first; i++)
        sigaction(fatal[i], &action, &before[i]);
}

void seed_end(void)
{
    under_way = false;
    alarm(0);
}

struct seed_range seed_slice(uint64_t cases, uint32_t slice, uint32_t slices)
{
    uint64_t all = seed_cases(cases);
    return (struct seed_range){.first = seed_first() + slice * (all / slices + 1),
                               .count = all / slices + (slice < all % slices)};
}

void seed_run(struct seed_range range, void (*run_case)(uint64_t seed))
{
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    for (uint64_t i = 0; i < range.count; i++) {
        seed_begin(range.first + i);
        run_case(range.first + i);
        seed_end();
    }
}
