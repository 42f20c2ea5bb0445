/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_run.h"

#include "platform/files.h"
#include "platform/logger.h"
#include "tests/lib/seed.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The stores are small; where memory is as large as a disk, they need not wait for one. */
#define MEMORY_FOLDER "/dev/shm"
#define MEMORY_BYTES_MIN (INT64_C(512) << 20)

/* A simulated crash jumps out of whatever was going on: memory stays behind, as in a real one,
 * where the process takes it along. LeakSanitizer, a shared library, asks this function, which a
 * static one of ours would hide. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
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
    const char *made = mkdtemp(ret_folder);
    assert(made != NULL);
}

const char *ownership_run_cases(uint64_t seed, uint64_t cases,
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
    for (; done < cases && failed == NULL; done++) {
        seed_begin(seed + done);
        failed = one(&run, seed + done);
        if (failed == NULL)
            seed_end();
    }
    ownership_run_end(&run);
    files_remove_tree(folder, NULL);
    fprintf(stderr, "%" PRIu64 " cases from seed %" PRIu64 "\n", done, seed);
    *ret_sometimes = run.sometimes;
    return failed;
}
