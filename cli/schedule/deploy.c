/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve schedule deploy`: checks files of schedules, and appends them to the schedules topic. */
#include "base/heap_arena.h"
#include "cli/output.h"
#include "cli/schedule/verbs.h"
#include "cli/user.h"
#include "cli/workflow/verbs.h"
#include "platform/files.h"
#include "replica/schedules/schedule_json.h"
#include "schedule/lifecycle.h"
#include "schedule/tick_order.h"

#include <assert.h>
#include <stdlib.h>

/* ---- files ---- */

struct schedule_text {
    char *text;
    size_t size;
    enum workflow_format format;
    struct heap_arena heap;
    struct schedule *schedule; /* NULL: there are errors */
};

static void text_deinit(struct schedule_text *file)
{
    free(file->text);
    heap_arena_deinit(&file->heap);
}

/* Reads and compiles; problems are printed. The exit code. */
static int text_read(struct cli *cli, const char *path, struct schedule_text *ret_file)
{
    static struct workflow_problems problems;
    struct error error;
    struct schedule_text file = {.format = workflow_format_of(path)};
    heap_arena_init(&ret_file->heap, 16 * 1024);
    if (files_read(path, SCHEDULE_BYTES_MAX, &file.text, &file.size, &error) != ERROR_OK) {
        error.class = ERROR_REJECT; /* the user named the file: the input is wrong */
        heap_arena_deinit(&ret_file->heap);
        return cli_fail(cli, &error);
    }
    file.heap = ret_file->heap;
    *ret_file = file;
    if (!schedule_parse((struct text){file.text, (uint32_t)file.size}, file.format,
                        &ret_file->heap.arena, &problems, &ret_file->schedule))
        ret_file->schedule = NULL;
    workflow_print_problems(cli, NULL, path, &problems);
    if (ret_file->schedule != NULL)
        return EXIT_CODE_OK;
    text_deinit(ret_file);
    return EXIT_CODE_DATA;
}

/* All that are named; each is checked. NULL: *ret_code says what is wrong. */
static struct schedule_text *read_all(struct cli *cli, int *ret_code)
{
    size_t count = (size_t)cli->argument_count;
    size_t read = 0;
    struct schedule_text *files = calloc(count, sizeof(*files));
    assert(files != NULL);
    *ret_code = EXIT_CODE_OK;
    for (size_t i = 0; i < count; i++) {
        int code = text_read(cli, cli->arguments[i], &files[read]);
        if (code == EXIT_CODE_OK)
            read++;
        else
            *ret_code = code;
    }
    if (*ret_code == EXIT_CODE_OK)
        return files;
    while (read > 0)
        text_deinit(&files[--read]);
    free(files);
    return NULL;
}

static void free_all(struct cli *cli, struct schedule_text *files)
{
    for (int i = 0; i < cli->argument_count; i++)
        text_deinit(&files[i]);
    free(files);
}

/* ---- a dry run ---- */

static const struct output_column tick_columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"TICK", "tick", output_value, false},
    {"LOCAL", "local", output_value, false},
    {"ORDER", "order_id", output_value, false},
    {0},
};

static void show_ticks(struct output *output, const struct schedule *schedule, int64_t now)
{
    json_t *ticks = schedule_next_json(schedule, now);
    size_t i;
    json_t *tick;
    json_array_foreach(ticks, i, tick) {
        json_t *row =
            json_pack("{s:s%}", "schedule", schedule->name.data, (size_t)schedule->name.size);
        json_object_update(row, tick);
        output_row(output, row);
    }
    json_decref(ticks);
}

static int dry_run(struct cli *cli)
{
    int code;
    struct schedule_text *files = read_all(cli, &code);
    if (files == NULL)
        return code;
    int64_t now = clock_wall_ms(clock_real()) / 1000;
    struct output *output = output_new(cli, tick_columns);
    for (int i = 0; i < cli->argument_count; i++)
        show_ticks(output, files[i].schedule, now);
    free_all(cli, files);
    return output_finish(output, EXIT_CODE_OK);
}

/* ---- deploying ---- */

static const struct output_column columns[] = {
    {"SCHEDULE", "schedule", output_value, false},
    {"RESULT", "result", output_value, false},
    {"NEXT", "next.0.tick", output_value, false},
    {0},
};

/* It is deployed all the same: its workflow may come later. */
static void warn_of_order(struct cli *cli, const struct deployed_schedules *deployed,
                          struct schedule_text *file)
{
    struct order_details details;
    struct error error;
    int64_t tick = ticks_next(&file->schedule->ticks, deployed_schedules_now(deployed));
    if (tick != TICK_NEVER && tick_order(file->schedule, deployed->session->cluster->workflows,
                                         tick, &file->heap.arena, &details, &error) != ERROR_OK)
        cli_warn(cli, error.code, "schedule %.*s submits no orders: %s",
                 TEXT_ARG(file->schedule->name), error.message);
}

static int deploy_one(struct cli *cli, struct deployed_schedules *deployed,
                      struct schedule_text *file, struct output *output)
{
    char by[WHO_BYTES_MAX];
    struct error error;
    struct schedule_definition definition;
    enum schedule_deployment result;
    cli_user_at_host(by);
    const struct schedule_author author = {.by = text_of(by),
                                           .at = clock_wall_ms(deployed->session->context.clock)};
    if (schedule_deploy(deployed_schedules_registry(deployed), file->schedule,
                        (struct text){file->text, (uint32_t)file->size}, file->format, &author,
                        &result, &definition, &error) != ERROR_OK ||
        (result != SCHEDULE_IS_THE_SAME &&
         deployed_schedules_write(deployed, definition.name, &definition, &error) != ERROR_OK))
        return cli_fail(cli, &error);
    const struct schedule_entry *entry =
        schedule_registry_find(deployed_schedules_registry(deployed), file->schedule->name);
    assert(entry != NULL); /* it was read back */
    json_t *row = schedule_entry_json(entry, deployed->session->cluster->workflows,
                                      deployed_schedules_now(deployed));
    json_object_set_new(row, "result",
                        json_string(schedule_deployment_word(result, entry->definition.paused)));
    output_row(output, row);
    warn_of_order(cli, deployed, file);
    return EXIT_CODE_OK;
}

static int deploy_all(struct cli *cli, struct cli_session *session, struct schedule_text *files)
{
    struct error error;
    struct deployed_schedules deployed;
    int code = EXIT_CODE_OK;
    if (deployed_schedules_init(&deployed, session, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    struct output *output = output_new(cli, columns);
    for (int i = 0; i < cli->argument_count && code == EXIT_CODE_OK; i++)
        code = deploy_one(cli, &deployed, &files[i], output);
    deployed_schedules_deinit(&deployed);
    return output_finish(output, code);
}

int schedule_deploy_run(struct cli *cli, struct cli_session *session)
{
    int code;
    struct schedule_text *files = read_all(cli, &code);
    if (files == NULL)
        return code;
    code = deploy_all(cli, session, files);
    free_all(cli, files);
    return code;
}

int schedule_run_deploy(struct cli *cli)
{
    return cli_flag_given(cli, "dry-run") ? dry_run(cli)
                                          : schedule_run_in_session(cli, schedule_deploy_run);
}
