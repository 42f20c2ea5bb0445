/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership, fencing and emission under random histories: schedulers crash between any two steps,
 * pause, come back as zombies, lose acknowledgements; after each step every live store equals a
 * fold of the log. And: a command that kills leaves no innocent ones under suspicion. */
#include "platform/files.h"
#include "platform/logger.h"
#include "tests/property/ownership_history.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* Four slices, because Criterion runs tests in parallel. */
enum { CASES = 10000, STEPS = 40, SLICES = 4, POISON_SHARE = 100 };

/* The stores are small; where memory is as large as a disk, they need not wait for one. */
#define MEMORY_FOLDER "/dev/shm"
#define MEMORY_BYTES_MIN (INT64_C(512) << 20)

/* A simulated crash jumps out of whatever was going on: memory stays behind, as in a real one,
 * where the process takes it along. LeakSanitizer asks this function. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? strtoull(value, NULL, 0) : fallback;
}

static uint64_t first_seed(void)
{
    uint64_t drawn = 0;
    (void)!getrandom(&drawn, sizeof(drawn), 0);
    return from_environment("REEVE_SEED", drawn);
}

static void make_folder(char *ret_folder, size_t size)
{
    const char *temporary = getenv("TMPDIR");
    int64_t free_bytes = 0;
    if (files_free_bytes(MEMORY_FOLDER, &free_bytes, NULL) == ERROR_OK &&
        free_bytes >= MEMORY_BYTES_MIN)
        temporary = MEMORY_FOLDER;
    snprintf(ret_folder, size, "%s/reeve-ownership-XXXXXX",
             temporary != NULL && *temporary != '\0' ? temporary : "/tmp");
    if (mkdtemp(ret_folder) != NULL)
        return;
    snprintf(ret_folder, size, "/tmp/reeve-ownership-XXXXXX");
    cr_assert_not_null(mkdtemp(ret_folder));
}

static const char *history(struct ownership_run *run, uint64_t seed)
{
    return ownership_history(run, seed, STEPS);
}

/* Says what was met, and asserts that no case failed. */
static void run_cases(uint64_t seed, uint64_t cases,
                      const char *(*one)(struct ownership_run *run, uint64_t seed),
                      struct ownership_sometimes *ret_sometimes)
{
    struct ownership_run run;
    char folder[200];
    const char *failed = NULL;
    uint64_t done = 0;
    if (getenv("REEVE_PROPERTY_LOG") == NULL)
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    make_folder(folder, sizeof(folder));
    ownership_run_begin(&run, folder);
    for (; done < cases && failed == NULL; done++)
        failed = one(&run, seed + done);
    ownership_run_end(&run);
    (void)files_remove_tree(folder, NULL);
    fprintf(stderr, "%" PRIu64 " cases from seed %" PRIu64 "\n", done, seed);
    *ret_sometimes = run.sometimes;
    cr_assert_null(failed, "REEVE_SEED=%" PRIu64 " REEVE_PROPERTY_CASES=1: %s", seed + done - 1,
                   failed);
    cr_assert_eq(done, cases);
}

static void run_slice(uint32_t slice)
{
    struct ownership_sometimes sometimes;
    uint64_t all = from_environment("REEVE_PROPERTY_CASES", CASES);
    uint64_t cases = all / SLICES + (slice < all % SLICES);
    run_cases(first_seed() + slice * (all / SLICES + 1), cases, history, &sometimes);
    sometimes_print(&sometimes);
    const char *never = all >= CASES ? sometimes_never(&sometimes) : NULL;
    cr_assert_null(never, "no case met this, so the run proves little: %s", never);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_1)
{
    run_slice(0);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_2)
{
    run_slice(1);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_3)
{
    run_slice(2);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_4)
{
    run_slice(3);
}

Test(ownership, quarantines_only_the_command_that_crashes_its_owner)
{
    struct ownership_sometimes sometimes;
    uint64_t all = from_environment("REEVE_PROPERTY_CASES", CASES);
    run_cases(first_seed(), all / POISON_SHARE + 1, ownership_poison, &sometimes);
}
