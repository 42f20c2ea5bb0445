/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve topics`: makes and checks the topics of a prefix. */
#include "kafka/topics/topics.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/kafka_options.h"
#include "cli/output.h"
#include "replica/settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 };

struct answer {
    const struct cli *cli;
    struct output *output;
    uint32_t counts[TOPICS_FINDING_COUNT];
    uint32_t rows;
};

static const char *const finding_names[] = {"created", "changed", "differs"};
_Static_assert(sizeof(finding_names) / sizeof(finding_names[0]) == TOPICS_FINDING_COUNT,
               "every finding has a name");

static const struct output_column columns[] = {
    {"finding", "FINDING", false}, {"topic", "TOPIC", false}, {"message", "WHAT", false}};

static void on_finding(void *ctx, enum topics_finding finding, const char *topic, const char *line)
{
    struct answer *answer = ctx;
    size_t size = strlen(topic);
    answer->counts[finding]++;
    /* Too long for a column, and the first thing to know. */
    if (strcmp(topic, TOPICS_BROKERS) == 0 && answer->cli->output == CLI_OUTPUT_TABLE) {
        fprintf(answer->cli->err, "reeve: %s\n", line);
        return;
    }
    answer->rows++;
    /* The column before says the topic. */
    if (strncmp(line, topic, size) == 0 && line[size] == ':')
        line += size + 1 + strspn(line + size + 1, " ");
    output_row(answer->output, json_pack("{s:s, s:s, s:s}", "finding", finding_names[finding],
                                         "topic", topic, "message", line));
}

static enum error_class take_names(const struct cli *cli, const char *flag,
                                   const char *ret_names[NAMES_MAX], size_t *ret_count,
                                   struct error *ret_error)
{
    const char *name;
    *ret_count = 0;
    for (size_t index = 0; (name = cli_flag_next(cli, flag, &index)) != NULL;) {
        if (!name_valid(text_of(name)))
            return error_set(ret_error, ERROR_REJECT, "Usage",
                             "--%s %.80s: expected 1 to %d letters, digits, '.', '_' or '-'", flag,
                             name, NAME_BYTES_MAX);
        if (*ret_count == NAMES_MAX)
            return error_set(ret_error, ERROR_REJECT, "Usage", "--%s: more than %d", flag,
                             NAMES_MAX);
        ret_names[(*ret_count)++] = name;
    }
    return ERROR_OK;
}

static int summary(struct cli *cli, const struct answer *answer, bool applied)
{
    uint32_t differs = answer->counts[TOPICS_DIFFERS];
    if (cli->output == CLI_OUTPUT_TABLE && applied)
        fprintf(cli->err, "%u created, %u changed, %u not as they should be\n",
                answer->counts[TOPICS_CREATED], answer->counts[TOPICS_CHANGED], differs);
    else if (cli->output == CLI_OUTPUT_TABLE && differs == 0)
        fprintf(cli->err, "all topics are as they should be\n");
    return differs == 0 ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
}

static int apply_or_check(struct cli *cli, bool apply)
{
    struct error error = {0};
    struct topics topics;
    struct cli_kafka_options kafka;
    const char *agents[NAMES_MAX];
    const char *apps[NAMES_MAX];
    struct topics_plan plan = {
        .kafka = &kafka.options, .topics = &topics, .agents = agents, .apps = apps};
    enum error_class class = take_names(cli, "agent", agents, &plan.agent_count, &error);
    if (class == ERROR_OK)
        class = take_names(cli, "app", apps, &plan.app_count, &error);
    if (class == ERROR_OK)
        class = topics_init(&topics, config_string(cli->config, "topics.prefix"), &error);
    if (class == ERROR_OK)
        class = cli_kafka_options(cli->config, &kafka, &error);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    /* A check without these asks for what there is to be consistent, not for the defaults. */
    if (apply || config_is_set(cli->config, "partitions"))
        plan.partitions = (int32_t)config_int(cli->config, "partitions");
    if (apply || config_is_set(cli->config, "replication.factor"))
        plan.replication_factor = (int32_t)config_int(cli->config, "replication.factor");
    struct answer answer = {.cli = cli, .output = output_new(cli->out, cli->output, columns, 3)};
    class = apply ? topics_apply(&plan, on_finding, &answer, &error)
                  : topics_check(&plan, on_finding, &answer, &error);
    /* No table of nothing. */
    if (answer.rows == 0 && cli->output == CLI_OUTPUT_TABLE)
        output_single(answer.output);
    (void)output_finish(answer.output);
    return class == ERROR_OK ? summary(cli, &answer, apply) : cli_fail(cli, &error);
}

static int run_apply(struct cli *cli)
{
    return apply_or_check(cli, true);
}

static int run_check(struct cli *cli)
{
    return apply_or_check(cli, false);
}

static const struct cli_flag flags[] = {
    {"agent", "NAME",
     "Its requests topic too; may be repeated. `workflow deploy` sees to it "
     "otherwise."},
    {"app", "NAME", "Its replies topic too; may be repeated."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "apply",
        .summary = "Creates the topics that are missing and corrects settings.",
        .examples = "reeve topics apply --partitions 8 --replication-factor 3\n"
                    "reeve topics apply --app web --kafka-bootstrap-servers kafka-1:9092",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_apply,
    },
    {
        .name = "check",
        .summary = "Says what is not as it should be; changes nothing. Exit code 1 if anything.",
        .examples = "reeve topics check\nreeve topics check --output json",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run_check,
    },
};

const struct cli_noun cli_topics = {"topics", "The Kafka topics of one prefix.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
