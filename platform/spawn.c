/* SPDX-License-Identifier: Apache-2.0 */
/* See spawn.h. */
#include "platform/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EXEC_FAILED = 127 };

int spawn_program(char *const argv[], char *const envp[], const int fds[SPAWN_FDS], pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    for (int i = 0; i < SPAWN_FDS; i++) {
        if (fds[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, fds[i], i);
        else
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, SPAWN_FDS);
    int rc = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

/* Between fork and exec, in a process with other threads: nothing but system calls. */
static _Noreturn void become(const char *path, char *const argv[], const int fds[SPAWN_FDS],
                             pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXEC_FAILED); /* the parent ended before the line above */
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < SPAWN_FDS; i++)
        dup2(fds[i] >= 0 ? fds[i] : nothing, i);
    execv(path, argv);
    _exit(EXEC_FAILED);
}

int spawn_tied(const char *path, char *const argv[], const int fds[SPAWN_FDS], pid_t *ret_pid)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        become(path != NULL ? path : "/proc/self/exe", argv, fds, parent);
    setpgid(pid, pid); /* in both processes: neither waits for the other */
    *ret_pid = pid;
    return 0;
}
