/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/topics/rights.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const agents[] = {"stock", "bank.eu"};
static const char *const apps[] = {"web", "shop"};
static struct topics topics;

static struct rights_plan plan_of(const struct rights_principal *principals, size_t count)
{
    struct error error;
    cr_assert_eq(topics_init(&topics, "test", &error), ERROR_OK);
    return (struct rights_plan){.topics = &topics,
                                .agents = agents,
                                .agent_count = 2,
                                .apps = apps,
                                .app_count = 2,
                                .user_prefix = "reeve-",
                                .principals = principals,
                                .principal_count = count};
}

struct rules {
    struct rights_rule *all;
    size_t count;
};

static struct rules rules_of(const struct rights_plan *plan)
{
    struct rules rules;
    struct error error = {.message = ""};
    cr_assert_eq(rights_rules(plan, &rules.all, &rules.count, &error), ERROR_OK, "%s",
                 error.message);
    return rules;
}

static bool grants(const struct rules *rules, const char *user, const char *operation,
                   const char *name, bool is_prefix)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rights_rule *rule = &rules->all[i];
        if (strcmp(rule->principal, user) == 0 && strcmp(rule->operation, operation) == 0 &&
            strcmp(rule->name, name) == 0 && rule->is_prefix == is_prefix)
            return true;
    }
    return false;
}

Test(rights, gives_each_program_a_user_with_its_own_rights)
{
    struct rights_plan plan = plan_of(NULL, 0);
    struct rules rules = rules_of(&plan);
    cr_assert(grants(&rules, "User:reeve-scheduler", "Write", "test.events", false));
    cr_assert(grants(&rules, "User:reeve-scheduler", "Write", "test.requests.", true));
    cr_assert(grants(&rules, "User:reeve-scheduler", "DescribeConfigs", "test.events", false));
    cr_assert(grants(&rules, "User:reeve-agent-bank.eu", "Read", "test.requests.bank.eu", false));
    cr_assert(grants(&rules, "User:reeve-agent-stock", "Read", "test.agent.stock", false));
    cr_assert(grants(&rules, "User:reeve-app-web", "Read", "web-", true));
    cr_assert(grants(&rules, "User:reeve-submit", "Read", "test.replies.shop", false));
    cr_assert(grants(&rules, "User:reeve-submit", "Read", "test.replies.web", false));
    cr_assert(grants(&rules, "User:reeve-admin", "Create", "test.", true));
    free(rules.all);
}

Test(rights, lets_only_schedulers_write_the_log_and_no_application_read_what_is_not_its_own)
{
    struct rights_plan plan = plan_of(NULL, 0);
    struct rules rules = rules_of(&plan);
    for (size_t i = 0; i < rules.count; i++) {
        const struct rights_rule *rule = &rules.all[i];
        if (strcmp(rule->name, "test.events") == 0 && strcmp(rule->operation, "Write") == 0)
            cr_assert_str_eq(rule->program, "scheduler");
        if (strcmp(rule->program, "app.web") != 0)
            continue;
        bool own = strcmp(rule->name, "test.replies.web") == 0 ||
                   strcmp(rule->name, "test.schemas") == 0 ||
                   strcmp(rule->name, "test.submissions") == 0 || rule->is_group;
        cr_assert(own, "%s", rule->name);
    }
    free(rules.all);
}

/* Each process keeps what stands there in its memory. */
Test(rights, lets_only_programs_that_publish_schemas_write_them)
{
    struct rights_plan plan = plan_of(NULL, 0);
    struct rules rules = rules_of(&plan);
    cr_assert(grants(&rules, "User:reeve-scheduler", "Write", "test.schemas", false));
    cr_assert(grants(&rules, "User:reeve-agent-stock", "Write", "test.schemas", false));
    cr_assert(grants(&rules, "User:reeve-leader", "Write", "test.schemas", false));
    for (size_t i = 0; i < rules.count; i++) {
        const struct rights_rule *rule = &rules.all[i];
        if (strcmp(rule->name, "test.schemas") != 0 || strcmp(rule->operation, "Write") != 0)
            continue;
        cr_assert_str_neq(rule->program, "submit");
        cr_assert_str_neq(rule->program, "candidate");
        cr_assert_str_neq(rule->program, "app.web");
    }
    free(rules.all);
}

/* A service checks the settings of submissions as it starts if it sees the topic, and
 * everyone who may write to it does. Those that only submit check nothing. */
Test(rights, shows_the_settings_of_submissions_to_each_service_that_writes_to_it)
{
    static const char *const services[] = {"submission", "scheduler", "supervisor", "console"};
    struct rights_plan plan = plan_of(NULL, 0);
    struct rules rules = rules_of(&plan);
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        char user[64];
        snprintf(user, sizeof(user), "User:reeve-%s", services[i]);
        if (grants(&rules, user, "Write", "test.submissions", false))
            cr_assert(grants(&rules, user, "DescribeConfigs", "test.submissions", false), "%s",
                      user);
    }
    free(rules.all);
}

Test(rights, grants_nothing_twice_to_a_shared_user)
{
    static const struct rights_principal principals[] = {
        {"scheduler", "reeve"}, {"supervisor", "User:reeve"}, {"agent.stock", "Group:CN=a=b,O=c"}};
    struct rights_plan plan = plan_of(principals, 3);
    struct rules rules = rules_of(&plan);
    cr_assert(grants(&rules, "User:reeve", "Write", "test.leadership", false));
    cr_assert(grants(&rules, "Group:CN=a=b,O=c", "Read", "test.requests.stock", false));
    for (size_t i = 1; i < rules.count; i++) {
        const struct rights_rule *one = &rules.all[i - 1];
        const struct rights_rule *other = &rules.all[i];
        cr_assert(strcmp(one->principal, other->principal) != 0 ||
                      strcmp(one->name, other->name) != 0 || one->is_prefix != other->is_prefix ||
                      one->is_group != other->is_group ||
                      one->kafka_operation < other->kafka_operation,
                  "%s %s", other->principal, other->name);
    }
    free(rules.all);
}

Test(rights, knows_its_programs_and_bounds_the_names_of_users)
{
    char user[RIGHTS_PRINCIPAL_SIZE + 1];
    memset(user, 'x', sizeof(user) - 1);
    user[sizeof(user) - 1] = '\0';
    struct rights_principal principal = {"console", user};
    struct rights_plan plan = plan_of(&principal, 1);
    struct rights_rule *rules;
    size_t count;
    struct error error;
    cr_assert(rights_has_program(&plan, "agent.bank.eu"));
    cr_assert(rights_has_program(&plan, "app.web"));
    cr_assert(rights_has_program(&plan, "candidate"));
    cr_assert_not(rights_has_program(&plan, "agent"));
    cr_assert_not(rights_has_program(&plan, "agent.other"));
    cr_assert_eq(rights_rules(&plan, &rules, &count, &error), ERROR_REJECT);
    cr_assert_str_eq(error.message,
                     "the user of console has a name of 261 bytes; the limit is 255");
}
