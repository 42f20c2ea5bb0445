/* SPDX-License-Identifier: Apache-2.0 */
/* Deploying over what the workflows topic holds already: the first definition of a version counts,
 * also one that does not compile. */
#include "cli/workflow/deployment.h"
#include "platform/files.h"
#include "platform/logger.h"
#include "replica/settings.h"
#include "tests/simulation/broker_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GOOD "Name: shop\nVersion: 3\nSteps:\n  - {Name: Pay, Agent: bank, After: []}\n"
#define BROKEN "Name: shop\nVersion: 3\nSteps:\n  - {Name: Pay, Agent: 'no name', After: []}\n"

static struct broker_memory_cluster *kafka;
static struct codec *codec;
static struct cli_session session;
static struct workflow_file file;

static void on_ready(void *ctx)
{
    (void)ctx;
    session.ready = true;
}

static void read_file(const char *text)
{
    char path[] = "/tmp/cli-deploy-XXXXXX.yaml";
    struct error error = {0};
    int descriptor = mkstemps(path, 5);
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(close(descriptor), 0);
    cr_assert_eq(files_write_atomic(path, text_of(text), &error), ERROR_OK);
    cr_assert_eq(workflow_file_read(path, &file, &error), ERROR_OK, "%s", error.message);
    cr_assert_not_null(file.workflow);
    cr_assert_eq(unlink(path), 0);
}

static void open_session(void)
{
    static const char *const topics[] = {"t.commands", "t.events", "t.submissions"};
    struct error error = {0};
    log_set_level(LOG_LEVEL_ERROR);
    session = (struct cli_session){.metrics = metrics_new()};
    cr_assert_eq(loop_new(clock_real(), &session.context.loop, &error), ERROR_OK);
    kafka = broker_memory_cluster_new(7, clock_real());
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
        broker_memory_topic(kafka, topics[i], 1);
    broker_memory_topic(kafka, "t.schemas", 1);
    broker_memory_topic(kafka, "t.workflows", 1);
    codec = codec_new();
    read_file(GOOD);
}

static void close_session(void)
{
    config_free((struct config *)(uintptr_t)session.context.config);
    cli_session_close(&session);
    workflow_file_deinit(&file);
    codec_free(codec);
    broker_memory_cluster_free(kafka);
}

TestSuite(cli_deploy, .init = open_session, .fini = close_session);

/* A definition that stands in the topic before the session begins. */
static void define(const char *text)
{
    struct buffer bytes = {.size = 0};
    struct workflow_definition definition = {
        .name = TEXT("shop"), .version = 3, .text = text_of(text), .format = TEXT("yaml")};
    codec_encode(codec, RECORD_WORKFLOW_DEFINITION, &definition, &bytes);
    broker_memory_append(kafka, "t.workflows", 0, TEXT("shop:3"),
                         (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
}

static void open_cluster(void)
{
    struct error error = {0};
    struct config *config = config_new(&settings_schema);
    cr_assert_eq(config_set(config, "topics.prefix", "t", &error), ERROR_OK);
    cr_assert_eq(config_finish(config, &error), ERROR_OK);
    session.context.name = "cli";
    session.context.instance_id = "cli-1";
    session.context.clock = clock_real();
    session.context.config = config;
    session.context.metrics = session.metrics;
    cr_assert_eq(cluster_open_on(&session.context, broker_memory_new(kafka, "cli-1"),
                                 CLUSTER_FOLLOWS_WORKFLOWS, on_ready, NULL, &session.cluster,
                                 &error),
                 ERROR_OK, "%s", error.message);
    int64_t until = clock_mono_ms(clock_real()) + 30000;
    while (!session.ready && clock_mono_ms(clock_real()) < until) {
        broker_memory_settle(kafka, 100000);
        loop_once(session.context.loop, 1);
    }
    cr_assert(session.ready);
}

/* The command reports `expected` in one line and ends with `code`; nothing is appended. */
static void check_refusal(const char *expected, int code)
{
    char *printed = NULL;
    size_t size = 0;
    int64_t low, before, after;
    const char *result = NULL;
    struct error error = {0};
    struct cli cli = {.output = CLI_OUTPUT_TABLE, .err = open_memstream(&printed, &size)};
    broker_memory_bounds(kafka, "t.workflows", 0, &low, &before);
    cr_assert_eq(workflow_deploy(&session, &file, true, &result, &error), ERROR_REJECT);
    cr_assert_eq(cli_fail(&cli, &error), code);
    fclose(cli.err);
    cr_assert_not_null(strstr(printed, expected), "%s", printed);
    cr_assert_eq(strchr(printed, '\n'), printed + size - 1, "one line: %s", printed);
    cr_assert_null(result);
    broker_memory_bounds(kafka, "t.workflows", 0, &low, &after);
    cr_assert_eq(after, before);
    free(printed);
}

Test(cli_deploy, refuses_a_version_whose_first_definition_does_not_compile)
{
    define(BROKEN);
    open_cluster();
    check_refusal("the first definition of shop version 3 in the topic does not compile, and the "
                  "first one counts: increase Version in the file",
                  EXIT_CODE_DATA);
}

Test(cli_deploy, refuses_a_version_whose_first_definition_is_not_yaml)
{
    define("Name: [");
    define(GOOD);
    open_cluster();
    check_refusal("does not compile", EXIT_CODE_DATA);
}

Test(cli_deploy, refuses_a_version_that_is_deployed_with_other_content)
{
    define(GOOD "# changed\n");
    open_cluster();
    check_refusal("shop version 3 is deployed with other content", EXIT_CODE_DATA);
}

Test(cli_deploy, accepts_what_is_deployed_already)
{
    struct error error = {0};
    const char *result = NULL;
    define(GOOD);
    open_cluster();
    cr_assert_eq(workflow_deploy(&session, &file, true, &result, &error), ERROR_OK, "%s",
                 error.message);
    cr_assert_str_eq(result, "already deployed, active");
}
