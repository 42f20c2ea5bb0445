/* SPDX-License-Identifier: Apache-2.0 */
/* Starts other programs. */
#ifndef PLATFORM_SPAWN_H
#define PLATFORM_SPAWN_H

#include <sys/types.h>

enum { SPAWN_IN, SPAWN_OUT, SPAWN_ERR, SPAWN_FDS };

/* argv ends with NULL; no shell: argv[0] is a path or is found in PATH. The program gets `fds` as
 * its standard input, output and error (-1 = /dev/null) and nothing else that is open here, the
 * default signals, and a process group of its own, so that what it starts can be killed with it.
 * Returns 0, or an errno: nothing was started. */
int spawn_program(char *const argv[], char *const envp[], const int fds[SPAWN_FDS], pid_t *ret_pid);
/* Likewise, with this environment; what is open here without O_CLOEXEC stays open. The program is
 * killed when this process ends, however that ends. `path`: its file; NULL: this very program. */
int spawn_tied(const char *path, char *const argv[], const int fds[SPAWN_FDS], pid_t *ret_pid);

#endif
