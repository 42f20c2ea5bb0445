/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve test`: runs the cases of test files over their workflows, without Kafka. */
#include "cli/test/test_run.h"
#include "cli/workflow/tested_file.h"

enum { ARENA_SIZE = 64 * 1024 };

/* ---- a file ---- */

static void run_case(struct test_report *report, const struct tested_file *file,
                     const struct test_case *test, const struct workflow *workflow)
{
    struct heap_arena heap;
    struct rehearsal rehearsal;
    struct test_result result = {.path = file->path, .test = test, .rehearsal = &rehearsal};
    heap_arena_init(&heap, ARENA_SIZE);
    rehearse(test, workflow, &heap.arena, &rehearsal);
    result.differences = rehearsal_compare(test, &rehearsal, &heap.arena, &result.difference_count);
    test_report_case(report, &result);
    heap_arena_deinit(&heap);
}

static bool is_chosen(const struct cli *cli, const struct test_case *test)
{
    const char *part = cli_flag_value(cli, "case");
    return part == NULL || memmem(test->name.data, test->name.size, part, strlen(part)) != NULL;
}

static void run_cases(struct test_report *report, const struct tested_file *file)
{
    for (uint32_t i = 0; i < file->cases.case_count; i++) {
        if (is_chosen(report->cli, &file->cases.cases[i]))
            run_case(report, file, &file->cases.cases[i], file->workflow.workflow);
    }
}

static void run_file(struct test_report *report, const char *path)
{
    struct tested_file file;
    struct error error = {0};
    const char *where = NULL;
    test_junit_begin_file(&report->junit, path);
    if (tested_file_read(path, &file, &error) != ERROR_OK) {
        cli_fail(report->cli, &error);
        report->failed++;
        test_junit_error(&report->junit, path, error.message);
        test_junit_end_file(&report->junit);
        return;
    }
    const struct workflow_problems *problems = tested_file_problems(&file, &where);
    if (problems != NULL)
        test_report_problems(report, where, problems);
    else
        run_cases(report, &file);
    test_junit_end_file(&report->junit);
    tested_file_deinit(&file);
}

/* ---- all of them ---- */

static void add_paths(struct test_report *report, struct test_paths *paths, const char *path)
{
    struct error error = {0};
    if (test_paths_add(paths, path, &error) == ERROR_OK)
        return;
    cli_fail(report->cli, &error);
    report->failed++;
    test_junit_begin_file(&report->junit, path);
    test_junit_error(&report->junit, path, error.message);
    test_junit_end_file(&report->junit);
}

static int run(struct cli *cli)
{
    struct test_paths paths = {0};
    struct test_report report = {.cli = cli, .verbose = cli_flag_given(cli, "verbose")};
    struct error error = {0};
    const char *junit = cli_flag_value(cli, "junit");
    if (junit != NULL && test_junit_open(&report.junit, junit, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    for (int i = 0; i < cli->argument_count; i++)
        add_paths(&report, &paths, cli->arguments[i]);
    if (cli->output != CLI_OUTPUT_TABLE)
        report.output = output_new(cli, NULL);
    for (size_t i = 0; i < paths.count; i++)
        run_file(&report, paths.items[i]);
    test_paths_deinit(&paths);
    if (report.output == NULL)
        fprintf(cli->out, "%u passed, %u failed\n", report.passed, report.failed);
    int code = output_finish(report.output, report.failed > 0 ? EXIT_CODE_DATA : EXIT_CODE_OK);
    return test_junit_close(&report.junit, &error) == ERROR_OK ? code : cli_fail(cli, &error);
}

/* ---- the command ---- */

static const struct cli_flag flags[] = {
    {"verbose", NULL, "Also prints the stories of cases that pass."},
    {"junit", "FILE", "Also writes the results to FILE as JUnit XML, for continuous integration."},
    {"case", "TEXT", "Only cases whose name has this text in it."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "FILE|DIRECTORY...",
        .summary = "Runs the cases of test files, and of all *.test.yaml in a directory, over "
                   "their workflows. Needs no broker: answers come from the file, and the clock "
                   "jumps. The story of a case that fails is printed as by `reeve orders history`.",
        .examples = "reeve test order-fulfilment.test.yaml\n"
                    "reeve test workflows --verbose --case declined\n"
                    "reeve test workflows --output json\n"
                    "reeve test workflows --junit reeve.xml",
        .flags = flags,
        .settings = CLI_SETTINGS_NONE,
        .run = run,
    },
};

const struct cli_noun cli_test = {"test", "Tests of workflows.", verbs, 1};
