/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h. */
#include "tools/bench/process.h"

#include "base/numbers.h"
#include "platform/files.h"

#include <assert.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROC_FILE_MAX = 64 * 1024 };

static char *read_file(const char *path)
{
    char *content = NULL;
    size_t size = 0;
    return files_read(path, PROC_FILE_MAX, &content, &size, NULL) == ERROR_OK ? content : NULL;
}

static char *read_proc(pid_t pid, const char *file)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, file);
    return read_file(path);
}

/* The 14th and 15th field of stat, in clock ticks. The 2nd may hold blanks and parentheses. */
static int64_t cpu_us_of(pid_t pid)
{
    char *stat = read_proc(pid, "stat");
    const char *at = stat != NULL ? strrchr(stat, ')') : NULL;
    uint64_t user = 0;
    uint64_t system = 0;
    for (int field = 2; at != NULL && field < 14; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    struct text rest = text_of(at);
    if (!number_take(&rest, INT32_MAX, &user) || rest.size == 0 || rest.data[0] != ' ')
        user = 0;
    else {
        rest = (struct text){rest.data + 1, rest.size - 1};
        number_take(&rest, INT32_MAX, &system);
    }
    free(stat);
    return (int64_t)(user + system) * (1000000 / sysconf(_SC_CLK_TCK));
}

static int64_t number_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    if (at == NULL)
        return 0;
    at += strlen(name);
    struct text digits = text_of(at + strspn(at, " \t"));
    uint64_t number = 0;
    number_take(&digits, INT64_MAX / 1024, &number);
    return (int64_t)number;
}

/* What the threads of a process had counted at one moment. */
struct bench_threads {
    uint32_t count;
    struct {
        int64_t id;
        int64_t wakeups;
    } items[];
};

/* The caller frees it. NULL if the process is gone. */
static struct bench_threads *read_threads(pid_t pid)
{
    char pattern[64];
    glob_t found = {0};
    struct bench_threads *threads = NULL;
    snprintf(pattern, sizeof(pattern), "/proc/%ld/task/*/status", (long)pid);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        threads = calloc(1, sizeof(*threads) + found.gl_pathc * sizeof(threads->items[0]));
        assert(threads != NULL);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char *status = read_file(found.gl_pathv[i]);
            if (status != NULL) {
                threads->items[threads->count].id = number_of(status, "\nPid:");
                threads->items[threads->count++].wakeups =
                    number_of(status, "\nvoluntary_ctxt_switches:");
            }
            free(status);
        }
    }
    globfree(&found);
    return threads;
}

static int64_t wakeups_of(const struct bench_threads *threads, int64_t id)
{
    for (uint32_t i = 0; threads != NULL && i < threads->count; i++) {
        if (threads->items[i].id == id)
            return threads->items[i].wakeups;
    }
    return 0;
}

/* Thread by thread: those that have ended in between, as a JVM's compilers do, took their count
 * with them. */
static int64_t wakeups_between(const struct bench_threads *began, const struct bench_threads *ended)
{
    int64_t wakeups = 0;
    for (uint32_t i = 0; ended != NULL && i < ended->count; i++)
        wakeups += ended->items[i].wakeups - wakeups_of(began, ended->items[i].id);
    return wakeups;
}

void bench_processes_add(struct bench_processes *processes, const char *name, pid_t pid)
{
    if (processes->count == BENCH_PROCESSES_MAX)
        return;
    struct bench_process *process = &processes->items[processes->count++];
    *process = (struct bench_process){.pid = pid};
    snprintf(process->name, sizeof(process->name), "%s", name);
}

void bench_processes_begin(struct bench_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++) {
        processes->items[i].began_us = cpu_us_of(processes->items[i].pid);
        processes->items[i].began_threads = read_threads(processes->items[i].pid);
    }
}

void bench_processes_end(struct bench_processes *processes)
{
    for (uint32_t i = 0; i < processes->count; i++) {
        struct bench_process *process = &processes->items[i];
        char *status = read_proc(process->pid, "status");
        if (status != NULL) {
            struct bench_threads *threads = read_threads(process->pid);
            process->cpu_us = cpu_us_of(process->pid) - process->began_us;
            process->wakeups = wakeups_between(process->began_threads, threads);
            process->rss_bytes = number_of(status, "\nVmRSS:") * 1024;
            process->rss_peak_bytes = number_of(status, "\nVmHWM:") * 1024;
            free(threads);
        }
        free(status);
        free(process->began_threads);
        process->began_threads = NULL;
    }
}
