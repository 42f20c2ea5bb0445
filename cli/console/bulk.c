/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/bulk.h"

#include "cli/context.h"
#include "cli/progress.h"
#include "platform/clock.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDS_MAX = 1000000, FIRST_CAPACITY = 64, LINE_SIZE = 4096, POLL_US_MAX = 200000 };

/* ---- the list ---- */

enum error_class bulk_init(struct cli *cli, const struct bulk_kind *kind, struct bulk *ret_bulk,
                           struct error *ret_error)
{
    *ret_bulk = (struct bulk){.cli = cli, .kind = kind};
    return pace_parse(cli_flag_value(cli, "rate"), &ret_bulk->pace, ret_error);
}

void bulk_deinit(struct bulk *bulk)
{
    for (size_t i = 0; i < bulk->count; i++)
        free(bulk->ids[i]);
    free(bulk->ids);
    bulk->ids = NULL;
    bulk->count = 0;
}

enum error_class bulk_add(struct bulk *bulk, const char *id, struct error *ret_error)
{
    if (bulk->kind->check_id(id, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (bulk->count == IDS_MAX)
        return error_set(ret_error, CODE_USAGE,
                         "more than %d %s: narrow the filter, or send them in parts", IDS_MAX,
                         bulk->kind->many);
    /* The capacity is the next power of two. */
    if (bulk->count == 0 ||
        (bulk->count >= FIRST_CAPACITY && (bulk->count & (bulk->count - 1)) == 0)) {
        size_t capacity = bulk->count == 0 ? FIRST_CAPACITY : 2 * bulk->count;
        bulk->ids = realloc(bulk->ids, capacity * sizeof(bulk->ids[0]));
        assert(bulk->ids != NULL);
    }
    bulk->ids[bulk->count] = strdup(id);
    assert(bulk->ids[bulk->count] != NULL);
    bulk->count++;
    return ERROR_OK;
}

static enum error_class add_stdin(struct bulk *bulk, struct error *ret_error)
{
    char line[LINE_SIZE];
    enum error_class class = ERROR_OK;
    for (int number = 1; class == ERROR_OK && fgets(line, sizeof(line), stdin) != NULL; number++) {
        struct error why;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0' && bulk_add(bulk, line, &why) != ERROR_OK)
            class = error_wrap(ret_error, &why, "stdin, line %d: %s", number, why.message);
    }
    if (class == ERROR_OK && ferror(stdin))
        return error_set(ret_error, CODE_IO, "stdin cannot be read");
    return class;
}

enum error_class bulk_add_arguments(struct bulk *bulk, int count, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    assert(count <= bulk->cli->argument_count);
    if (count == 1 && strcmp(bulk->cli->arguments[0], "-") == 0)
        return add_stdin(bulk, ret_error);
    bulk->listed = count > 0;
    for (int i = 0; i < count && class == ERROR_OK; i++)
        class = bulk_add(bulk, bulk->cli->arguments[i], ret_error);
    return class;
}

/* ---- before they are sent ---- */

static const char *name_of(const struct bulk *bulk)
{
    return bulk->count == 1 ? bulk->kind->one : bulk->kind->many;
}

static int list_only(const struct bulk *bulk)
{
    struct cli *cli = bulk->cli;
    struct output *output = output_new(cli, bulk->kind->columns);
    for (size_t i = 0; i < bulk->count; i++)
        output_row(output, json_pack("{s:s}", bulk->kind->columns[0].path, bulk->ids[i]));
    int code = output_finish(output, EXIT_CODE_OK);
    if (cli->output == CLI_OUTPUT_TABLE)
        fprintf(cli->err, "%zu %s; nothing was sent (--dry-run)\n", bulk->count, name_of(bulk));
    return code;
}

/* Asks on the terminal, unless they were listed or --yes was given. False: *ret_code is the exit
 * code, and the error was reported. */
static bool confirm(const struct bulk *bulk, const char *verb, int *ret_code)
{
    char line[16];
    struct error error;
    struct cli *cli = bulk->cli;
    if (bulk->listed || bulk->count == 0 || cli_flag_given(cli, "yes"))
        return true;
    if (!isatty(STDIN_FILENO)) {
        *ret_code = cli_usage(cli, "%zu %s: --dry-run lists them, --yes goes ahead", bulk->count,
                              name_of(bulk));
        return false;
    }
    const char *context = context_name(cli);
    fprintf(cli->err, "%c%s %zu %s%s%s? [y/N] ", verb[0] - 'a' + 'A', verb + 1, bulk->count,
            name_of(bulk), context[0] != '\0' ? " of the context " : "", context);
    fflush(cli->err);
    if (fgets(line, sizeof(line), stdin) != NULL && (line[0] == 'y' || line[0] == 'Y'))
        return true;
    error_set(&error, CODE_NOT_CONFIRMED, "nothing was sent");
    *ret_code = cli_fail(cli, &error);
    return false;
}

/* ---- sending ---- */

struct bulk_progress {
    struct progress line;
    size_t done;
    size_t refused;
};

static void wait_for_pace(struct bulk *bulk, struct bulk_progress *progress)
{
    const struct clock *clock = clock_real();
    for (int64_t us; (us = pace_wait_us(&bulk->pace, clock_mono_us(clock))) > 0;) {
        progress_show(&progress->line, progress->done, bulk->count, -1);
        poll(NULL, 0, (int)((us < POLL_US_MAX ? us + 999 : POLL_US_MAX) / 1000));
    }
    pace_pass(&bulk->pace);
}

/* A refusal for one does not stop the others, unless the console is away. */
static int send_all(struct bulk *bulk,
                    int (*send)(void *ctx, const char *id, struct output *output), void *ctx,
                    struct output *output, struct bulk_progress *progress)
{
    int code = EXIT_CODE_OK;
    progress_begin(&progress->line, bulk->cli->err, clock_real(), bulk->kind->many);
    while (progress->done < bulk->count) {
        wait_for_pace(bulk, progress);
        int one = send(ctx, bulk->ids[progress->done], output);
        code = one > code ? one : code;
        progress->done++;
        progress->refused += one != EXIT_CODE_OK;
        if (one != EXIT_CODE_OK && one != EXIT_CODE_NEGATIVE)
            break;
        progress_show(&progress->line, progress->done, bulk->count, -1);
    }
    progress_end(&progress->line);
    return code;
}

/* --dry-run of an action that can be checked. */
static int check_all(struct bulk *bulk, const struct bulk_action *action)
{
    struct cli *cli = bulk->cli;
    struct bulk_progress progress = {.done = 0};
    struct output *output = output_new(cli, action->check_columns);
    int code = output_finish(output, send_all(bulk, action->check, action->ctx, output, &progress));
    if (cli->output == CLI_OUTPUT_TABLE)
        fprintf(cli->err,
                "%zu of %zu %s would be accepted, %zu refused%s; nothing was sent "
                "(--dry-run)\n",
                progress.done - progress.refused, bulk->count, bulk->kind->many, progress.refused,
                progress.done == bulk->count ? "" : "; the rest was not checked");
    return code;
}

int bulk_run(struct bulk *bulk, const struct bulk_action *action)
{
    int code = EXIT_CODE_OK;
    struct cli *cli = bulk->cli;
    struct bulk_progress progress = {.done = 0};
    bool table = cli->output == CLI_OUTPUT_TABLE;
    if (cli_flag_given(cli, "dry-run"))
        return action->check != NULL ? check_all(bulk, action) : list_only(bulk);
    if (bulk->count == 0 && table)
        fprintf(cli->err, "No %s matches.\n", bulk->kind->one);
    if (!confirm(bulk, action->verb, &code))
        return code;
    struct output *output = output_new(cli, action->columns);
    code = output_finish(output, send_all(bulk, action->send, action->ctx, output, &progress));
    if (!bulk->listed && bulk->count > 0 && table)
        fprintf(cli->err, "%zu of %zu %s: done; %zu refused%s\n", progress.done - progress.refused,
                bulk->count, bulk->kind->many, progress.refused,
                progress.done == bulk->count ? ""
                                             : "; the rest was not tried, and can be sent again");
    return code;
}
