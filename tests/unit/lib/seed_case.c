/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs the third of three random cases and ends it in the way that its argument
 * names; seed_test.c reads what it prints. */
#include "tests/lib/seed.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *end = argc == 2 ? argv[1] : "";
    for (uint64_t seed = 40; seed < 42; seed++) {
        seed_begin(seed);
        seed_end();
    }
    seed_begin(42);
    if (strcmp(end, "abort") == 0)
        abort();
    if (strcmp(end, "fail") == 0)
        exit(1); /* as Criterion does */
    if (strcmp(end, "never") == 0)
        raise(SIGALRM);
    if (strcmp(end, "pass") == 0) {
        seed_end();
        exit(0);
    }
    _exit(2);
}
