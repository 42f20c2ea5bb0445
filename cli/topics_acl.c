/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve topics acl`: prints, applies or checks the access rules of an installation's users. */
#include "cli/topics_acl.h"

#include "base/names.h"
#include "cli/output.h"
#include "kafka/topics/rights.h"
#include "replica/cluster/cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct acl {
    struct cli *cli;
    struct topics topics;
    struct cluster_kafka_options kafka;
    const char *agents[CLI_TOPICS_NAMES_MAX];
    const char *apps[CLI_TOPICS_NAMES_MAX];
    struct rights_principal principals[CLI_TOPICS_NAMES_MAX];
    char *copies[CLI_TOPICS_NAMES_MAX]; /* that the principals point into */
    struct rights_plan plan;
    struct output *output;
    uint32_t counts[RIGHTS_FINDING_COUNT];
};

static const char *const finding_names[] = {"created", "exists", "missing"};
_Static_assert(sizeof(finding_names) / sizeof(finding_names[0]) == RIGHTS_FINDING_COUNT,
               "every finding has a name");

static const struct output_column columns[] = {
    {"FINDING", "finding", output_value, false},
    {"PRINCIPAL", "principal", output_value, false},
    {"OPERATION", "operation", output_value, false},
    {"RESOURCE", "resource", output_value, false},
    {"NAME", "name", output_value, false},
    {"PATTERN", "pattern", output_value, false},
    {0},
};

/* ---- the plan ---- */

/* SERVICE=NAME; a distinguished name holds further '='. */
static enum error_class take_principals(struct acl *acl, struct error *ret_error)
{
    const char *given;
    size_t *count = &acl->plan.principal_count;
    for (size_t index = 0; (given = cli_flag_next(acl->cli, "principal", &index)) != NULL;) {
        if (*count == CLI_TOPICS_NAMES_MAX)
            return error_set(ret_error, CODE_USAGE, "--principal: more than %d",
                             CLI_TOPICS_NAMES_MAX);
        char *program = acl->copies[*count] = strdup(given);
        assert(program != NULL);
        char *user = program;
        strsep(&user, "=");
        acl->principals[(*count)++] = (struct rights_principal){program, user};
        if (user == NULL || user[0] == '\0' || !rights_has_program(&acl->plan, program))
            return error_set(ret_error, CODE_USAGE,
                             "--principal %.80s: expected SERVICE=USER, where SERVICE is "
                             "submission, scheduler, supervisor, console, leader, candidate, "
                             "submit, admin, agent.NAME with --agent NAME, or app.NAME with --app "
                             "NAME",
                             given);
    }
    return ERROR_OK;
}

static enum error_class make_plan(struct acl *acl, struct error *ret_error)
{
    struct cli *cli = acl->cli;
    const char *prefix = cli_flag_value(cli, "principal-prefix");
    acl->plan = (struct rights_plan){.kafka = &acl->kafka.options,
                                     .topics = &acl->topics,
                                     .agents = acl->agents,
                                     .apps = acl->apps,
                                     .user_prefix = prefix != NULL ? prefix : "reeve-",
                                     .principals = acl->principals};
    enum error_class class =
        cli_topics_names(cli, "agent", acl->agents, &acl->plan.agent_count, ret_error);
    if (class == ERROR_OK)
        class = cli_topics_names(cli, "app", acl->apps, &acl->plan.app_count, ret_error);
    if (class == ERROR_OK)
        class = take_principals(acl, ret_error);
    if (class == ERROR_OK)
        class = topics_init(&acl->topics, config_string(cli->config, "topics.prefix"), ret_error);
    if (class == ERROR_OK)
        class = cluster_kafka_options(cli->config, 0, &acl->kafka, ret_error);
    return class;
}

/* ---- printing ---- */

static json_t *row_of(const char *finding, const struct rights_rule *rule)
{
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "program", rule->program, "principal",
                            rule->principal, "operation", rule->operation, "resource",
                            rule->is_group ? "group" : "topic", "name", rule->name, "pattern",
                            rule->is_prefix ? "prefixed" : "literal");
    if (finding != NULL)
        json_object_set_new(row, "finding", json_string(finding));
    return row;
}

static bool has_same_resource(const struct rights_rule *one, const struct rights_rule *other)
{
    return strcmp(one->principal, other->principal) == 0 && one->is_group == other->is_group &&
           one->is_prefix == other->is_prefix && strcmp(one->name, other->name) == 0;
}

/* One command for all operations on one resource. Returns how many rules it covers. */
static size_t write_command(const struct acl *acl, const struct rights_rule rules[], size_t count)
{
    FILE *out = acl->cli->out;
    size_t covered = 0;
    fputs("kafka-acls --bootstrap-server ", out);
    output_quoted(out, config_string(acl->cli->config, "kafka.bootstrap.servers"));
    fputs(" --add --allow-principal ", out);
    output_quoted(out, rules[0].principal);
    for (; covered < count && has_same_resource(&rules[0], &rules[covered]); covered++)
        fprintf(out, " --operation %s", rules[covered].operation);
    fprintf(out, " --%s %s%s\n", rules[0].is_group ? "group" : "topic", rules[0].name,
            rules[0].is_prefix ? " --resource-pattern-type prefixed" : "");
    return covered;
}

static int print(struct acl *acl)
{
    struct error error;
    struct rights_rule *rules = NULL;
    size_t count = 0;
    if (rights_rules(&acl->plan, &rules, &count, &error) != ERROR_OK)
        return output_finish(acl->output, cli_fail(acl->cli, &error));
    if (acl->cli->output == CLI_OUTPUT_TABLE) {
        for (size_t i = 0; i < count;)
            i += write_command(acl, &rules[i], count - i);
    } else {
        for (size_t i = 0; i < count; i++)
            output_row(acl->output, row_of(NULL, &rules[i]));
    }
    free(rules);
    return output_finish(acl->output, EXIT_CODE_OK);
}

/* ---- applying and checking ---- */

static void on_finding(void *ctx, enum rights_finding finding, const struct rights_rule *rule)
{
    struct acl *acl = ctx;
    acl->counts[finding]++;
    if (finding == RIGHTS_EXISTS && acl->cli->output == CLI_OUTPUT_TABLE)
        return;
    output_row(acl->output, row_of(finding_names[finding], rule));
}

static int apply_or_check(struct acl *acl, bool apply)
{
    struct error error;
    struct cli *cli = acl->cli;
    enum error_class class = apply ? rights_apply(&acl->plan, on_finding, acl, &error)
                                   : rights_check(&acl->plan, on_finding, acl, &error);
    if (class != ERROR_OK)
        return output_finish(acl->output, cli_fail(cli, &error));
    int code = output_finish(acl->output, EXIT_CODE_OK);
    uint32_t missing = acl->counts[RIGHTS_MISSING];
    uint32_t exist = acl->counts[RIGHTS_EXISTS];
    if (cli->output == CLI_OUTPUT_TABLE && apply)
        fprintf(cli->err, "%u created, %u existed\n", acl->counts[RIGHTS_CREATED], exist);
    else if (cli->output == CLI_OUTPUT_TABLE && missing > 0)
        fprintf(cli->err, "%u of %u access rules are missing\n", missing, missing + exist);
    else if (cli->output == CLI_OUTPUT_TABLE)
        fprintf(cli->err, "OK: no access rule is missing\n");
    if (code != EXIT_CODE_OK)
        return code;
    return missing == 0 ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE;
}

int cli_topics_acl(struct cli *cli)
{
    struct error error;
    bool apply = cli_flag_given(cli, "apply");
    bool check = cli_flag_given(cli, "check");
    if (apply && check)
        return cli_usage(cli, "--apply and --check exclude each other");
    if (cli_flag_given(cli, "markdown")) {
        rights_markdown(cli->out);
        return EXIT_CODE_OK;
    }
    struct acl *acl = calloc(1, sizeof(*acl));
    assert(acl != NULL);
    acl->cli = cli;
    acl->output = output_new(cli, columns);
    output_omit_empty(acl->output);
    int code;
    if (make_plan(acl, &error) != ERROR_OK)
        code = output_finish(acl->output, cli_fail(cli, &error));
    else
        code = apply || check ? apply_or_check(acl, apply) : print(acl);
    for (size_t i = 0; i < acl->plan.principal_count; i++)
        free(acl->copies[i]);
    free(acl);
    return code;
}
