/* SPDX-License-Identifier: Apache-2.0 */
/* See import_run.h. */
#include "cli/import/import_run.h"

#include "base/heap_arena.h"
#include "base/numbers.h"
#include "cli/import/rejects.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/submit/order_checks.h"
#include "cli/submit/sender.h"
#include "schemas/details.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { PACE_MS = 20 };

struct import_run {
    struct cli *cli;
    struct cli_session session;
    struct sender *sender;
    struct order_checks checks;
    struct pace pace;
    struct rejects rejects;
    struct progress progress;
    struct heap_arena heap; /* of one order */
    uint64_t limit;         /* 0 = none */
    uint64_t sent;
    uint64_t rejected; /* orders */
    uint64_t expected;
    double share;
};

/* ---- run ---- */

enum error_class import_run_new(struct cli *cli, const char *path, struct import_run **ret_run,
                                struct error *ret_error)
{
    int64_t limit = 0;
    struct pace pace;
    if (cli_flag_int(cli, "limit", 0, 1, INT64_MAX, &limit, ret_error) != ERROR_OK ||
        pace_parse(cli_flag_value(cli, "rate"), &pace, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    struct import_run *run = calloc(1, sizeof(*run));
    assert(run != NULL);
    run->cli = cli;
    run->pace = pace;
    run->limit = (uint64_t)limit;
    run->share = -1;
    heap_arena_init(&run->heap, 64 * 1024);
    enum error_class class =
        cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &run->session, ret_error);
    if (class == ERROR_OK) {
        class = rejects_init(&run->rejects, path, ret_error);
        if (class != ERROR_OK) {
            rejects_close(&run->rejects, NULL);
            cli_session_close(&run->session);
        }
    }
    if (class != ERROR_OK) {
        free(run);
        return class;
    }
    order_checks_init(&run->checks, run->session.cluster);
    run->sender = sender_new(&run->session, run->session.cluster->topics.submissions, NULL, NULL);
    progress_begin(&run->progress, cli->err, run->session.context.clock, "orders");
    *ret_run = run;
    return ERROR_OK;
}

void import_run_expect(struct import_run *run, uint64_t orders, double share)
{
    run->expected = run->limit > 0 && run->limit < orders ? run->limit : orders;
    run->share = orders > 0 ? -1 : share;
}

void import_run_count_refused(struct import_run *run)
{
    run->rejected++;
}

bool import_run_is_over(const struct import_run *run)
{
    return run->limit > 0 && run->sent >= run->limit;
}

enum error_class import_run_reject(struct import_run *run, int64_t line, struct text order_id,
                                   const char *reason, struct error *ret_error)
{
    return rejects_add(&run->rejects, line, order_id, reason, ret_error);
}

static void show_progress(struct import_run *run)
{
    double share = run->share;
    /* With a limit the import ends before the file does. */
    if (run->limit > 0 && run->expected == 0)
        share = (double)run->sent / (double)run->limit;
    progress_show(&run->progress, sender_acknowledged(run->sender) + run->rejected, run->expected,
                  share);
}

static void wait_for_pace(struct import_run *run)
{
    const struct clock *clock = run->session.context.clock;
    for (int64_t us; (us = pace_wait_us(&run->pace, clock_mono_us(clock))) > 0;) {
        int64_t ms = (us + 999) / 1000;
        sender_run(run->sender, ms < PACE_MS ? ms : PACE_MS);
        show_progress(run);
    }
}

enum error_class import_run_order(struct import_run *run, struct order_details *details,
                                  int64_t line, struct error *ret_error)
{
    struct error why = {0};
    heap_arena_reset(&run->heap);
    if (details_validate_new(details, &run->heap.arena, &why) != ERROR_OK) {
        run->rejected++;
        return import_run_reject(run, line, details->order_id, why.message, ret_error);
    }
    /* A missing workflow is a mistake of the whole import, not of this order. */
    enum error_class class = order_checks_pass(&run->checks, details, ret_error);
    if (class != ERROR_OK)
        return class;
    if (order_checks_input(&run->checks, details, &why) != ERROR_OK) {
        run->rejected++;
        return import_run_reject(run, line, details->order_id, why.message, ret_error);
    }
    wait_for_pace(run);
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER, .order_id = details->order_id, .submit_order = *details};
    class = sender_send(run->sender, -1, details->order_id, RECORD_SUBMIT_ORDER, &cmd, ret_error);
    if (class != ERROR_OK)
        return class;
    pace_pass(&run->pace);
    run->sent++;
    show_progress(run);
    return ERROR_OK;
}

static void print_summary(const struct import_run *run, double seconds)
{
    struct cli *cli = run->cli;
    uint64_t submitted = sender_acknowledged(run->sender);
    double rate = (double)submitted / seconds;
    const char *path = run->rejects.rows > 0 ? run->rejects.path : "";
    if (cli->output == CLI_OUTPUT_TABLE) {
        fprintf(cli->out,
                "%" PRIu64 " orders submitted in %.1f s (%.0f/s), %" PRIu64 " rejected%s%s\n",
                submitted, seconds, rate, run->rejected, *path != '\0' ? ", see " : "", path);
        return;
    }
    output_one(cli, NULL,
               json_pack("{s:I, s:I, s:I, s:f, s:f, s:s}", "submitted", (json_int_t)submitted,
                         "rejected", (json_int_t)run->rejected, "rejected_rows",
                         (json_int_t)run->rejects.rows, "seconds", seconds, "rate", rate,
                         "rejects_file", path));
}

/* Nothing was submitted. */
static int report_none(const struct import_run *run)
{
    bool refused = run->rejects.rows > 0 || run->rejected > 0;
    cli_report(run->cli, CODE_NO_ORDER,
               refused ? "%s holds no order that can be imported" : "%s holds no order",
               run->cli->arguments[0]);
    return EXIT_CODE_DATA;
}

int import_run_finish(struct import_run *run, enum error_class class, const struct error *error)
{
    struct cli *cli = run->cli;
    struct error late = {0};
    enum error_class flushed = sender_flush(run->sender, &late);
    double seconds = progress_end(&run->progress);
    print_summary(run, seconds);
    enum error_class closed = rejects_close(&run->rejects, flushed == ERROR_OK ? &late : NULL);
    int code = EXIT_CODE_OK;
    if (class != ERROR_OK)
        code = cli_fail(cli, error);
    else if (flushed != ERROR_OK || closed != ERROR_OK)
        code = cli_fail(cli, &late);
    else if (run->sent == 0)
        code = report_none(run);
    sender_free(run->sender);
    cli_session_close(&run->session);
    heap_arena_deinit(&run->heap);
    free(run);
    return code;
}
