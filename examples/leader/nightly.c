/* SPDX-License-Identifier: Apache-2.0 */
/* A report that is written once, however many processes of this program run. README.md shows how to
 * build and run it.
 *
 * The "store" is a file whose name holds the fencing token's newest value: writing under an older
 * token is refused, as a database would with UPDATE ... WHERE token <= :token.
 *
 * The file is valid C17 and C++17. */
#include <reeve/leader.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { EVERY_MS = 1000 };

/* False: a task with a newer token has written already. */
static bool store_line(const char *path, int64_t token, const char *line)
{
    int64_t newest = -1;
    FILE *file = fopen(path, "a+");
    if (file == NULL || flock(fileno(file), LOCK_EX) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (file != NULL)
            fclose(file);
        return false;
    }
    int64_t seen;
    while (fscanf(file, "%" SCNd64 "%*[^\n]", &seen) == 1)
        newest = seen > newest ? seen : newest;
    bool accepted = token >= newest;
    if (accepted)
        fprintf(file, "%" PRId64 " %s\n", token, line);
    fclose(file); /* flushes, then releases the lock */
    return accepted;
}

static void report(void *ctx, struct reeve_leader *leader)
{
    const char *path = (const char *)ctx;
    char line[64];
    int64_t token = reeve_leader_token(leader);
    /* False as soon as the lease is lost, or the process stops: then return soon. */
    for (int number = 1; reeve_leader_wait(leader, EVERY_MS); number++) {
        snprintf(line, sizeof(line), "line %d of process %d", number, (int)getpid());
        if (!store_line(path, token, line))
            return;                    /* another process leads already */
        reeve_leader_progress(leader); /* for completed work: without it the task counts as hung */
    }
}

int main(int argc, char **argv)
{
    static char path[] = "/tmp/nightly.report";
    static struct reeve_leader_options options;
    options.role = "nightly";
    return reeve_leader_run(&options, report, path, argc - 1, argv + 1);
}
