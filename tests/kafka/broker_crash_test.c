/* SPDX-License-Identifier: Apache-2.0 */
/* A real broker is killed and started again, stopped and continued, under appends and readers:
 * every append is answered once, what was acknowledged is where it was acknowledged, readers miss
 * nothing, members come back. One test: it has the broker for itself. */
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APPENDS_MAX = 500000, PATH_SIZE = 512, STOPPED_MS = 3000 };

extern char **environ;

/* ---- the broker's process ---- */

static pid_t run_kafka(const char *command)
{
    char path[PATH_SIZE];
    pid_t pid;
    const char *folder = getenv("REEVE_KAFKA_DIR");
    snprintf(path, sizeof(path), "%s/scripts/kafka", getenv("REEVE_SOURCE_DIR"));
    const char *arguments[] = {path, command, "--dir", folder, "--node", "1", NULL};
    cr_assert_eq(posix_spawn(&pid, path, NULL, NULL, (char *const *)arguments, environ), 0);
    return pid;
}

static bool has_ended(void *ctx)
{
    pid_t *pid = ctx;
    if (waitpid(*pid, NULL, WNOHANG) == *pid)
        *pid = 0;
    return *pid == 0;
}

/* Runs the command while the loop turns. A busy machine starts a broker in more than a minute. */
static void kafka(struct lab *lab, const char *command)
{
    pid_t pid = run_kafka(command);
    cr_assert(lab_wait_until(lab, has_ended, &pid) || lab_wait_until(lab, has_ended, &pid));
}

static void signal_broker(int signal)
{
    char path[PATH_SIZE];
    long pid = 0;
    snprintf(path, sizeof(path), "%s/node-1.pid", getenv("REEVE_KAFKA_DIR"));
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%ld", &pid), 1);
    fclose(file);
    cr_assert_eq(kill((pid_t)pid, signal), 0);
}

/* ---- what goes on meanwhile ---- */

struct traffic {
    struct lab *lab;
    struct lab_appends appends;
    struct lab_reader readers[LAB_PARTITIONS];
    struct lab_member member;
    struct loop_timer timer;
};

/* Two records a millisecond or so, to the end. */
static void on_timer(void *ctx)
{
    struct traffic *traffic = ctx;
    for (int i = 0; i < 2 && traffic->appends.sent < APPENDS_MAX; i++)
        lab_append_number(traffic->lab, &traffic->appends,
                          (int32_t)(traffic->appends.sent % LAB_PARTITIONS));
    loop_timer_after(traffic->lab->loop, &traffic->timer, 1);
}

static void wait_for_acks(struct traffic *traffic, uint32_t more)
{
    cr_assert(lab_wait(traffic->lab, &traffic->appends.acked, traffic->appends.acked + more));
}

/* ---- what must be true in the end ---- */

struct check {
    struct lab_appends *appends;
    uint32_t found;
    uint32_t ends;
};

static void check_record(void *ctx, const struct broker_record *record)
{
    struct check *check = ctx;
    char value[LAB_VALUE_SIZE];
    snprintf(value, sizeof(value), "%.*s", TEXT_ARG(record->value));
    uint32_t token = (uint32_t)strtoul(value, NULL, 10);
    struct lab_answer *answer = &check->appends->answers[token];
    if (answer->class == ERROR_OK) {
        cr_assert_eq(answer->offset, record->offset);
        check->found++;
    }
}

static void check_end(void *ctx, int64_t next_offset)
{
    struct check *check = ctx;
    (void)next_offset;
    check->ends++;
}

static void check_error(void *ctx, const struct error *error)
{
    (void)ctx;
    cr_assert_neq(error->class, ERROR_FATAL, "%s", error->message);
}

static void check_logs(struct lab *lab, struct lab_appends *appends)
{
    static const struct broker_reader_ops ops = {check_record, check_end, check_error};
    struct check check = {.appends = appends};
    for (int32_t p = 0; p < LAB_PARTITIONS; p++) {
        struct broker_reader *reader =
            broker_read(lab->broker, lab->topics.events, p, BROKER_EARLIEST, &ops, &check);
        cr_assert(lab_wait(lab, &check.ends, (uint32_t)p + 1));
        broker_reader_close(reader);
    }
    cr_assert_eq(check.found, appends->acked);
}

static bool owns_all(void *ctx)
{
    return ((const struct lab_member *)ctx)->owned == LAB_PARTITIONS;
}

static void begin(struct lab *lab, struct traffic *traffic)
{
    lab_open(lab);
    *traffic = (struct traffic){.lab = lab};
    lab_appends_init(&traffic->appends, APPENDS_MAX);
    for (int32_t p = 0; p < LAB_PARTITIONS; p++)
        lab_read(lab, &traffic->readers[p], p, BROKER_EARLIEST);
    lab_join(lab, lab->broker, &traffic->member);
    loop_timer_init(&traffic->timer, on_timer, traffic);
    loop_timer_after(lab->loop, &traffic->timer, 0);
    cr_assert(lab_wait_until(lab, owns_all, &traffic->member));
}

static void finish(struct lab *lab, struct traffic *traffic)
{
    struct lab_appends *appends = &traffic->appends;
    loop_timer_cancel(lab->loop, &traffic->timer);
    cr_assert(lab_wait(lab, &appends->answered, appends->sent));
    uint32_t read = 0;
    for (uint32_t i = 0; i < appends->sent; i++)
        cr_assert_eq(appends->answers[i].count, 1);
    for (int32_t p = 0; p < LAB_PARTITIONS; p++) {
        cr_assert_eq(traffic->readers[p].disorder, 0);
        cr_assert_eq(traffic->readers[p].fatal, 0);
        lab_reader_close(&traffic->readers[p]);
        read += traffic->readers[p].records;
    }
    check_logs(lab, appends);
    printf("# %u acknowledged, %u failed (%u without an offset, %u fatal), %u read\n",
           appends->acked, appends->failed, appends->without_offset, appends->fatal, read);
    lab_leave(&traffic->member);
    lab_appends_deinit(appends);
    lab_close(lab);
}

static bool is_alone(void *ctx)
{
    return !broker_connected(ctx);
}

Test(broker_crash, answers_every_append_and_delivers_every_record, .timeout = 280)
{
    struct lab lab;
    struct traffic traffic;
    if (getenv("REEVE_KAFKA_DIR") == NULL)
        cr_skip_test("needs a broker that it may kill: REEVE_KAFKA_DIR");
    begin(&lab, &traffic);
    wait_for_acks(&traffic, 3000);

    kafka(&lab, "kill");
    cr_assert(lab_wait_until(&lab, is_alone, lab.broker));
    kafka(&lab, "start");
    wait_for_acks(&traffic, 3000);
    cr_assert(lab_wait_until(&lab, owns_all, &traffic.member));

    /* Connections stay, nothing is answered. */
    signal_broker(SIGSTOP);
    lab_run(&lab, STOPPED_MS);
    signal_broker(SIGCONT);
    wait_for_acks(&traffic, 3000);

    /* At once, without a pause in between. */
    kafka(&lab, "kill");
    kafka(&lab, "start");
    wait_for_acks(&traffic, 3000);
    cr_assert(lab_wait_until(&lab, owns_all, &traffic.member));
    finish(&lab, &traffic);
}
