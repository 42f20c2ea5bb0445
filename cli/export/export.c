/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve export`: what the log has, as files for an archive. */
#include "cli/export/export.h"

#include "cli/console/order_filter.h"
#include "cli/export/container.h"
#include "cli/output.h"
#include "platform/files.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { WAIT_MS = 200, FILE_RECORDS_MAX = 500000 /* some seconds of work */ };

/* ---- records of a partition ---- */

bool export_is_done(void *ctx)
{
    const struct export_partition *partition = ctx;
    return partition->done;
}

static void stop(struct export_partition *partition)
{
    assert(error_is(&partition->error));
    partition->done = true;
}

bool export_begin_record(struct export_partition *partition)
{
    assert(!partition->done);
    if (partition->segment != NULL)
        return true;
    if (segment_open(&partition->run->series, partition->written, &partition->segment,
                     &partition->error) == ERROR_OK)
        return true;
    stop(partition);
    return false;
}

/* Closes the segment at partition->next. */
static enum error_class finish_segment(struct export_partition *partition, struct error *ret_error)
{
    struct segment *segment = partition->segment;
    partition->segment = NULL;
    enum error_class class = segment_finish(segment, partition->next, ret_error);
    if (class != ERROR_OK)
        return class;
    partition->files++;
    partition->written = partition->next;
    return ERROR_OK;
}

void export_end_record(struct export_partition *partition, int64_t next)
{
    assert(next >= partition->next && next > partition->written);
    partition->next = next;
    partition->records++;
    partition->run->exported++;
    if (!partition->unsettled && segment_is_full(partition->segment) &&
        finish_segment(partition, &partition->error) != ERROR_OK)
        stop(partition);
}

void export_note_start(struct export_partition *partition, int64_t start)
{
    int64_t next = start < partition->end ? start : partition->end;
    if (next <= partition->next)
        return;
    partition->trimmed += next - partition->next;
    partition->next = next;
}

void export_wait(struct export_partition *partition, bool (*done)(void *ctx), void *ctx)
{
    struct export_run *run = partition->run;
    int64_t total = partition->end - partition->first;
    while (!cli_session_wait(run->session, done, ctx, WAIT_MS))
        progress_show(&run->progress, run->exported, 0,
                      total > 0 ? (double)(partition->next - partition->first) / (double)total : 1);
}

/* ---- the partitions ---- */

/* Where to continue: after the last file, or at the log's first record. */
static enum error_class find_start(struct export_partition *partition, struct error *ret_error)
{
    struct export_run *run = partition->run;
    int64_t low, high, first, next;
    enum error_class class = cli_session_offsets(run->session, run->session->cluster->topics.events,
                                                 run->series.partition, &low, &high, ret_error);
    if (class == ERROR_OK)
        class = segment_series_end(&partition->run->series, &first, &next, ret_error);
    if (class != ERROR_OK)
        return class;
    if (next > high)
        return error_set(ret_error, CODE_ANOTHER_LOG,
                         "the files of partition %d go to offset %" PRId64
                         ", but its log ends at %" PRId64
                         ": they are of another log; export into another directory",
                         partition->run->series.partition, next, high);
    if (next >= 0 && next < low)
        return error_set(ret_error, CODE_NOT_KEPT,
                         "the files of partition %d go to offset %" PRId64
                         ", but its log begins at %" PRId64
                         ": what lies between is lost; export into another directory",
                         partition->run->series.partition, next, low);
    partition->first = partition->next = partition->written = next >= 0 ? next : low;
    partition->end = high;
    return ERROR_OK;
}

static const struct output_column columns[] = {
    {"PARTITION", "partition", output_value, true},
    {"FROM", "from", output_value, true},
    {"TO", "to", output_value, true},
    {"RECORDS", "records", output_value, true},
    {"UNDECODED", "undecoded", output_value, true},
    {"FILES", "files", output_value, true},
    {"TRIMMED", "trimmed", output_value, true},
    {0},
};

/* The rest is in the files, and the next run goes on after it. */
static void warn_of_trim(struct cli *cli, const struct export_partition *partition)
{
    if (partition->trimmed > 0)
        cli_warn(cli, CODE_TRIMMED,
                 "partition %d: the log was trimmed while it was read: %" PRId64
                 " records were gone before they could be exported",
                 partition->run->series.partition, partition->trimmed);
    if (partition->lost > 0)
        cli_warn(cli, CODE_TRIMMED,
                 "partition %d: %" PRIu64
                 " orders that ended are left out: the log was trimmed, and what is left of it "
                 "holds nothing of them but their end",
                 partition->run->series.partition, partition->lost);
}

static enum error_class export_one(struct export_run *run, int32_t number,
                                   export_partition_run export, struct output *output,
                                   struct error *ret_error)
{
    struct export_partition partition = {.run = run};
    run->series.partition = number;
    enum error_class class = find_start(&partition, ret_error);
    if (class == ERROR_OK && partition.first < partition.end)
        class = export(&partition, ret_error);
    /* Also a range that gave nothing has a file: the next run continues after it. */
    if (class == ERROR_OK && partition.segment == NULL && partition.next > partition.written)
        class = segment_open(&run->series, partition.written, &partition.segment, ret_error);
    if (class == ERROR_OK && partition.segment != NULL)
        class = finish_segment(&partition, ret_error);
    segment_discard(class == ERROR_OK ? NULL : partition.segment);
    if (class == ERROR_OK)
        class = export_group_commit(run->group, number, partition.next, ret_error);
    if (class != ERROR_OK)
        return class;
    output_row(output, json_pack("{s:i, s:I, s:I, s:I, s:I, s:i, s:I}", "partition", number, "from",
                                 (json_int_t)partition.first, "to", (json_int_t)partition.next,
                                 "records", (json_int_t)partition.records, "undecoded",
                                 (json_int_t)partition.undecoded, "files", (int)partition.files,
                                 "trimmed", (json_int_t)partition.trimmed));
    warn_of_trim(run->cli, &partition);
    if (partition.undecoded > 0)
        cli_warn(run->cli, CODE_UNDECODED,
                 "partition %d: %" PRIu64
                 " records cannot be decoded and are kept as bytes; a newer version of reeve may "
                 "have written them",
                 number, partition.undecoded);
    return ERROR_OK;
}

static enum error_class export_all(struct export_run *run, export_partition_run export,
                                   struct error *ret_error)
{
    const char *group = cli_flag_value(run->cli, "group");
    int64_t only = -1;
    int32_t count = run->session->cluster->partition_count;
    enum error_class class =
        cli_flag_int(run->cli, "partition", -1, 0, count - 1, &only, ret_error);
    if (class == ERROR_OK && group != NULL && group[0] == '\0')
        class = error_set(ret_error, CODE_USAGE, "--group is empty: give a name");
    if (class == ERROR_OK && group != NULL)
        class = export_group_join(run->session, group, &run->group, ret_error);
    if (class != ERROR_OK)
        return class;
    struct output *output = output_new(run->cli, columns);
    for (int32_t p = 0; p < count && class == ERROR_OK; p++)
        if ((only < 0 || only == p) && export_group_has(run->group, p))
            class = export_one(run, p, export, output, ret_error);
    progress_end(&run->progress);
    export_group_leave(run->group);
    int code = output_finish(output, class == ERROR_OK ? EXIT_CODE_OK : EXIT_CODE_INTERNAL);
    if (class == ERROR_OK && code != EXIT_CODE_OK)
        class = error_set(ret_error, CODE_OUTPUT, "the result cannot be printed");
    return class;
}

/* ---- the flags ---- */

static enum error_class read_until(struct cli *cli, int64_t now, int64_t *ret_until,
                                   struct error *ret_error)
{
    char text[RFC3339_TEXT_SIZE];
    enum error_class class = order_filter_read_time(cli, "until", now, text, ret_error);
    *ret_until = INT64_MAX;
    if (class == ERROR_OK && text[0] != '\0' && !rfc3339_parse(text_of(text), ret_until))
        assert(0 && "a time that was made by rfc3339_format()");
    return class;
}

static enum error_class read_format(struct cli *cli, enum export_format *ret_format,
                                    struct error *ret_error)
{
    const char *format = cli_flag_value(cli, "format");
    if (format == NULL || strcmp(format, "avro") == 0)
        *ret_format = EXPORT_AVRO;
    else if (strcmp(format, "jsonl") == 0)
        *ret_format = EXPORT_JSONL;
    else
        return error_set(ret_error, CODE_USAGE, "--format must be avro or jsonl");
    return ERROR_OK;
}

int export_run(struct cli *cli, const char *what, char *schema, export_partition_run run)
{
    struct error error;
    struct cli_session session;
    int lock = -1;
    struct export_run export = {.cli = cli, .session = &session};
    export.series = (struct segment_series){.directory = cli->arguments[0],
                                            .what = what,
                                            .schema = schema,
                                            .records_max = FILE_RECORDS_MAX};
    export.suborders = run == export_orders_of && cli_flag_given(cli, "all");
    enum error_class class = read_format(cli, &export.series.format, &error);
    if (class == ERROR_OK)
        class = read_until(cli, clock_wall_ms(clock_real()), &export.until_ms, &error);
    if (class == ERROR_OK)
        class = files_make_dirs(export.series.directory, &error);
    if (class == ERROR_OK)
        class = files_lock(export.series.directory, &lock, &error);
    if (class == ERROR_OK)
        class = cli_session_open(cli, 0, &session, &error);
    if (class == ERROR_OK) {
        progress_begin(&export.progress, cli->err, session.context.clock, what);
        class = export_all(&export, run, &error);
        cli_session_close(&session);
    }
    files_unlock(lock);
    free(schema);
    return class == ERROR_OK ? EXIT_CODE_OK : cli_fail(cli, &error);
}

#define EXPORT_FLAGS                                                                              \
    {"until", "TIME",                                                                             \
     "Only records appended before then: a time such as 2010-12-01T08:26:00Z, or an age: "        \
     "30m, 1h, 7d. By default all that there are when a partition begins."},                      \
        {"format", "FORMAT", "avro (the default): Avro container files; jsonl: JSON lines."},     \
        {"partition", "N", "Only this partition; all of them by default."},                       \
    {                                                                                             \
        "group", "NAME",                                                                          \
            "Commits what is exported for this consumer group; its members share the partitions." \
    }
static const struct cli_flag event_flags[] = {EXPORT_FLAGS, {0}};
static const struct cli_flag order_flags[] = {
    {"all", NULL,
     "Also sub-orders, which are left out otherwise. A directory that was begun without it lacks "
     "those that ended before."},
    EXPORT_FLAGS,
    {0}};

static const struct cli_verb verbs[] = {
    {.name = "events",
     .arguments = "DIR",
     .summary = "Writes the records of the log to files in DIR; a later run continues where the "
                "last one ended.",
     .examples = "reeve export events /srv/archive/events\n"
                 "# what is older than a day, as JSON lines\n"
                 "reeve export events /srv/archive/json --format jsonl --until 1d\n"
                 "# for tools that show how far the archive goes\n"
                 "reeve export events /srv/archive/events --group orders-archive\n",
     .flags = event_flags,
     .run = export_events},
    {.name = "orders",
     .arguments = "DIR",
     .summary = "Writes each root order that was Processed or Compensated, as it was then, to "
                "files in DIR; a later run adds those that ended since.",
     .examples = "reeve export orders /srv/archive/orders\n"
                 "# sub-orders as well, each of which names its parent\n"
                 "reeve export orders /srv/archive/all-orders --all\n"
                 "reeve export orders /srv/archive/orders --until 2010-12-01T00:00:00Z\n",
     .flags = order_flags,
     .run = export_orders},
};

const struct cli_noun cli_export = {.name = "export",
                                    .summary = "Archiving the log and the orders that ended.",
                                    .verbs = verbs,
                                    .verb_count = sizeof(verbs) / sizeof(verbs[0])};
