/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve topics`: creates and checks the topics of a prefix. The access rules: topics_acl.c. */
#include "kafka/topics/topics.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/topics_acl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct topic_findings {
    const struct cli *cli;
    struct output *output;
    uint32_t counts[TOPICS_FINDING_COUNT];
};

static const char *const finding_names[] = {"created", "changed", "differs"};
_Static_assert(sizeof(finding_names) / sizeof(finding_names[0]) == TOPICS_FINDING_COUNT,
               "every finding has a name");

static const struct output_column columns[] = {
    {"FINDING", "finding", output_value, false},
    {"TOPIC", "topic", output_value, false},
    {"DETAIL", "message", output_value, false},
    {0},
};

static void on_finding(void *ctx, enum topics_finding finding, const char *topic, const char *line)
{
    struct topic_findings *findings = ctx;
    size_t size = strlen(topic);
    findings->counts[finding]++;
    /* Too long for a column, and what to read first. */
    if (strcmp(topic, TOPICS_BROKERS) == 0 && findings->cli->output == CLI_OUTPUT_TABLE) {
        cli_report(findings->cli, CODE_BROKERS, "%s", line);
        return;
    }
    /* The column before names the topic. */
    if (strncmp(line, topic, size) == 0 && line[size] == ':')
        line += size + 1 + strspn(line + size + 1, " ");
    output_row(findings->output, json_pack("{s:s, s:s, s:s}", "finding", finding_names[finding],
                                           "topic", topic, "message", line));
}

enum error_class cli_topics_names(const struct cli *cli, const char *flag,
                                  const char *ret_names[CLI_TOPICS_NAMES_MAX], size_t *ret_count,
                                  struct error *ret_error)
{
    const char *name;
    *ret_count = 0;
    for (size_t index = 0; (name = cli_flag_next(cli, flag, &index)) != NULL;) {
        if (!name_valid_new(text_of(name)))
            return error_set(ret_error, CODE_USAGE, "--%s %.80s: expected " NAME_NEW_EXPECTED, flag,
                             name);
        if (*ret_count == CLI_TOPICS_NAMES_MAX)
            return error_set(ret_error, CODE_USAGE, "--%s: more than %d", flag,
                             CLI_TOPICS_NAMES_MAX);
        ret_names[(*ret_count)++] = name;
    }
    return ERROR_OK;
}

static int summary(struct cli *cli, const struct topic_findings *findings, bool applied)
{
    uint32_t differs = findings->counts[TOPICS_DIFFERS];
    if (cli->output == CLI_OUTPUT_TABLE && applied)
        fprintf(cli->err, "%u created, %u changed, %u differ\n", findings->counts[TOPICS_CREATED],
                findings->counts[TOPICS_CHANGED], differs);
    else if (cli->output == CLI_OUTPUT_TABLE && differs == 0)
        fprintf(cli->err, "OK: all topics are as expected\n");
    return differs == 0 ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
}

static int apply_or_check(struct cli *cli)
{
    bool apply = strcmp(cli->verb->name, "apply") == 0;
    struct error error = {0};
    struct topics topics;
    struct cluster_kafka_options kafka;
    const char *agents[CLI_TOPICS_NAMES_MAX];
    const char *apps[CLI_TOPICS_NAMES_MAX];
    struct topics_plan plan = {
        .kafka = &kafka.options, .topics = &topics, .agents = agents, .apps = apps};
    enum error_class class = cli_topics_names(cli, "agent", agents, &plan.agent_count, &error);
    if (class == ERROR_OK)
        class = cli_topics_names(cli, "app", apps, &plan.app_count, &error);
    if (class == ERROR_OK)
        class = topics_init(&topics, config_string(cli->config, "topics.prefix"), &error);
    if (class == ERROR_OK)
        class = cluster_kafka_options(cli->config, 0, &kafka, &error);
    if (class != ERROR_OK)
        return cli_fail(cli, &error);
    /* Without these a check compares the topics with each other, not with the defaults. */
    if (apply || config_is_set(cli->config, "partitions"))
        plan.partitions = (int32_t)config_int(cli->config, "partitions");
    plan.replication_factor = (int32_t)config_int(cli->config, "replication.factor");
    plan.allow_weaker = apply && cli_flag_given(cli, "allow-weaker");
    struct topic_findings findings = {.cli = cli, .output = output_new(cli, columns)};
    output_omit_empty(findings.output);
    class = apply ? topics_apply(&plan, on_finding, &findings, &error)
                  : topics_check(&plan, on_finding, &findings, &error);
    if (class != ERROR_OK)
        return output_finish(findings.output, cli_fail(cli, &error));
    int code = output_finish(findings.output, EXIT_CODE_OK);
    return code == EXIT_CODE_OK ? summary(cli, &findings, apply) : code;
}

#define AGENT_MEANING                                                                  \
    "Includes the agent's requests topic; may be repeated. `workflow deploy` creates " \
    "missing ones as well."
#define APP_MEANING "Includes the application's replies topic; may be repeated."

static const struct cli_flag apply_flags[] = {
    {"agent", "NAME", AGENT_MEANING},
    {"app", "NAME", APP_MEANING},
    {"allow-weaker", NULL,
     "Lowers durability to what replication.factor asks for: min.insync.replicas of existing "
     "topics, "
     "and new topics with fewer replicas than commands has. Without it such a command is refused."},
    {NULL, NULL, NULL},
};

static const struct cli_flag check_flags[] = {
    {"agent", "NAME", AGENT_MEANING},
    {"app", "NAME", APP_MEANING},
    {NULL, NULL, NULL},
};

static const struct cli_flag acl_flags[] = {
    {"principal-prefix", "PREFIX",
     "Each program's user is this and its name: PREFIXscheduler, PREFIXagent-NAME. Default: "
     "reeve-"},
    {"principal", "SERVICE=USER",
     "The user of one program instead, such as "
     "agent.stock=User:CN=stock; may be repeated."},
    {"agent", "NAME", "Includes the agent's user; may be repeated."},
    {"app", "NAME", "Includes the application's user; may be repeated."},
    {"apply", NULL, "Adds the rules that are missing."},
    {"check", NULL, "Lists the rules that are missing. Exit code 1 if any."},
    {"markdown", NULL, "Prints the table of rights for the documentation."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "apply",
        .summary = "Creates missing topics and corrects their settings.",
        .examples = "reeve topics apply --partitions 8 --replication-factor 3\n"
                    "reeve topics apply --app web --kafka-bootstrap-servers kafka-1:9092",
        .flags = apply_flags,
        .run = apply_or_check,
    },
    {
        .name = "check",
        .summary = "Lists topics that differ from what they should be; changes nothing. Exit code "
                   "1 if any.",
        .examples = "reeve topics check\nreeve topics check --output json",
        .flags = check_flags,
        .run = apply_or_check,
    },
    {
        .name = "acl",
        .summary = "Prints the access rules that reeve's users need, as kafka-acls commands; or "
                   "applies or checks them.",
        .examples = "reeve topics acl --agent stock --agent bank --app web\n"
                    "reeve topics acl --principal-prefix svc- --agent stock --apply\n"
                    "reeve topics acl --principal scheduler=User:CN=scheduler,O=Example --check",
        .flags = acl_flags,
        .run = cli_topics_acl,
    },
};

const struct cli_noun cli_topics = {"topics",
                                    "The Kafka topics of one prefix, and the rights on them.",
                                    verbs, sizeof(verbs) / sizeof(verbs[0])};
