/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an export: their names say where to continue. What is in them is checked by
 * tests/embedded/test_export.py. */
#include "base/error.h"
#include "cli/export/container.h"
#include "cli/export/export.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static struct segment_series series;

static void setup(void)
{
    snprintf(directory, sizeof(directory), "/tmp/export-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    series = (struct segment_series){.directory = directory,
                                     .what = "events",
                                     .format = EXPORT_JSONL,
                                     .partition = 3,
                                     .records_max = 1000};
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    cr_assert_eq(system(command), 0);
}

TestSuite(cli_export, .init = setup, .fini = teardown);

static void touch(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fclose(file);
}

static bool exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void assert_series(int64_t first, int64_t next)
{
    struct error error = {0};
    int64_t found_first = -7, found_next = -7;
    cr_assert_eq(segment_series_end(&series, &found_first, &found_next, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert_eq(found_first, first);
    cr_assert_eq(found_next, next);
}

static void write_file(int64_t first, int64_t next)
{
    struct error error = {0};
    struct segment *segment = NULL;
    json_t *record = json_pack("{s:I}", "offset", (json_int_t)first);
    cr_assert_eq(segment_open(&series, first, &segment, &error), ERROR_OK, "%s", error.message);
    segment_add_json(segment, record);
    json_decref(record);
    cr_assert_eq(segment_finish(segment, next, &error), ERROR_OK, "%s", error.message);
}

Test(cli_export, begins_in_an_empty_directory)
{
    assert_series(-1, -1);
}

Test(cli_export, continues_after_the_last_file)
{
    write_file(100, 250);
    assert_series(100, 250);
    write_file(250, 1000);
    assert_series(100, 1000);
    cr_assert(exists("events-00003-000000000000100-000000000000250.jsonl"));
}

Test(cli_export, lets_only_its_group_read_a_file)
{
    struct stat status;
    char path[256];
    write_file(0, 1);
    snprintf(path, sizeof(path), "%s/events-00003-000000000000000-000000000000001.jsonl",
             directory);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0007, 0);
}

Test(cli_export, ignores_files_of_other_series)
{
    write_file(0, 10);
    touch("events-00004-000000000000010-000000000000020.jsonl"); /* another partition */
    touch("orders-00003-000000000000010-000000000000020.jsonl"); /* another kind */
    touch("events-00003-000000000000010-000000000000020.avro");  /* another format */
    touch("events-00003-000000000000010-000000000000020.jsonl.gz");
    touch("events-00003--10-000000000000020.jsonl");
    touch("events-00003-000000000000020-000000000000020.jsonl"); /* empty range */
    touch("events-00003-99999999999999999999-999999999999999999999.jsonl");
    touch("events-00003-");
    assert_series(0, 10);
}

Test(cli_export, removes_what_an_interrupted_run_left)
{
    write_file(0, 10);
    touch("events-00003-000000000000010.partial");
    touch("events-00004-000000000000010.partial"); /* another partition's */
    assert_series(0, 10);
    cr_assert(!exists("events-00003-000000000000010.partial"));
    cr_assert(exists("events-00004-000000000000010.partial"));
}

Test(cli_export, shows_a_file_only_when_it_is_complete)
{
    struct error error = {0};
    struct segment *segment = NULL;
    cr_assert_eq(segment_open(&series, 0, &segment, &error), ERROR_OK, "%s", error.message);
    assert_series(-1, -1); /* and removes its file: the run that wrote it is over */
    segment_discard(segment);
    cr_assert(!exists("events-00003-000000000000000.partial"));
}

Test(cli_export, refuses_to_continue_with_a_gap)
{
    struct error error = {0};
    int64_t first, next;
    write_file(0, 10);
    write_file(11, 20);
    cr_assert_eq(segment_series_end(&series, &first, &next, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_FILE_MISSING);
    cr_assert(strstr(error.message, "partition 3 has a file up to offset 10") != NULL, "%s",
              error.message);
}

/* A file is full; then come records that give nothing; then one that does. */
Test(cli_export, leaves_no_gap_between_its_files)
{
    struct export_run run = {.series = series};
    struct export_partition partition = {.run = &run, .first = 3, .next = 3, .written = 3};
    json_t *record = json_pack("{s:i}", "offset", 4);
    run.series.records_max = 1;
    for (int64_t next = 5; next <= 20; next += 15) {
        cr_assert(export_begin_record(&partition), "%s", partition.error.message);
        segment_add_json(partition.segment, record);
        export_end_record(&partition, next);
        partition.next = next + 7;
    }
    json_decref(record);
    cr_assert_eq(partition.files, 2);
    assert_series(3, 20);
}

Test(cli_export, reports_a_directory_that_is_gone)
{
    struct error error = {0};
    struct segment *segment = NULL;
    series.directory = "/tmp/export-test-none/none";
    cr_assert_eq(segment_open(&series, 0, &segment, &error), ERROR_FATAL);
    cr_assert_eq(error.code, CODE_EXPORT_IO);
    cr_assert_null(segment);
}

Test(cli_export, encodes_numbers_as_avro_does)
{
    static const struct {
        int64_t value;
        size_t size;
        uint8_t bytes[10];
    } cases[] = {
        {0, 1, {0}},
        {-1, 1, {1}},
        {1, 1, {2}},
        {-64, 1, {0x7f}},
        {64, 2, {0x80, 0x01}},
        {INT64_MAX, 10, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
        {INT64_MIN, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer buffer = {0};
        container_put_long(&buffer, cases[i].value);
        cr_assert_eq(buffer.size, cases[i].size, "case %zu", i);
        cr_assert_eq(memcmp(buffer.data, cases[i].bytes, buffer.size), 0, "case %zu", i);
        buffer_deinit(&buffer);
    }
}
