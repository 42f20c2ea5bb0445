/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate whose task records what it does: each operation goes to a guarded resource, which
 * refuses a token older than one that it has seen, and its outcome into a ledger that all
 * candidates share.
 *
 * LEADER_RESOURCE is the resource's port on 127.0.0.1: a line "WHAT TOKEN PID", a line "done" or
 * "refused" back. The folder LEADER_FOLDER holds `ledger` (the same and the outcome, one line for
 * each operation) and, if the test wants it, `hang-PID`: while that file is there, the task of that
 * process does nothing and does not end either; then it acts once without checking its lease, as a
 * process does that was suspended at the wrong moment. */
#include <reeve/leader.h>

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_SIZE = 512, BEAT_MS = 10 };

static void path_of(const char *name, char ret_path[PATH_SIZE])
{
    const char *folder = getenv("LEADER_FOLDER");
    assert(folder != NULL);
    snprintf(ret_path, PATH_SIZE, "%s/%s", folder, name);
}

static void note(const char *what, int64_t token, const char *outcome)
{
    char line[128];
    char path[PATH_SIZE];
    path_of("ledger", path);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int size =
        snprintf(line, sizeof(line), "%s %" PRId64 " %d %s\n", what, token, (int)getpid(), outcome);
    assert(fd >= 0);
    ssize_t written = write(fd, line, (size_t)size);
    assert(written == size);
    fsync(fd);
    close(fd);
}

static void operate(const char *what, int64_t token)
{
    char line[128];
    const char *port = getenv("LEADER_RESOURCE");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0 && port != NULL);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = snprintf(line, sizeof(line), "%s %" PRId64 " %d\n", what, token, (int)getpid());
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, line, (size_t)size, MSG_NOSIGNAL) == size) {
        ssize_t got = recv(fd, line, sizeof(line) - 1, MSG_WAITALL);
        line[got > 0 ? got : 0] = '\0';
        line[strcspn(line, "\n")] = '\0';
        note(what, token, line);
    }
    close(fd);
}

static bool told_to_hang(void)
{
    char name[64];
    char path[PATH_SIZE];
    snprintf(name, sizeof(name), "hang-%d", (int)getpid());
    path_of(name, path);
    return access(path, F_OK) == 0;
}

static void task(void *ctx, struct reeve_leader *leader)
{
    int64_t token = reeve_leader_token(leader);
    (void)ctx;
    operate("begin", token);
    while (reeve_leader_wait(leader, BEAT_MS)) {
        bool hung = told_to_hang();
        if (hung)
            note("hang", token, "-");
        while (hung && told_to_hang())
            poll(NULL, 0, BEAT_MS);
        poll(NULL, 0, BEAT_MS); /* the moment between looking and acting */
        operate("act", token);
        reeve_leader_progress(leader);
    }
    note("end", token, "-");
}

int main(int argc, char **argv)
{
    static const struct reeve_leader_options options = {.role = "test"};
    return reeve_leader_run(&options, task, NULL, argc - 1, argv + 1);
}
