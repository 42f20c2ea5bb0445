/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rights, and the rules made from it. See rights.h. */
#include "kafka/topics/rights.h"

#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

enum { RIGHTS_MAX = 11, OPERATIONS = 7, PREFIX_BYTES_MAX = 150 };

/* Bits of the operations, in the order of the table's columns. */
enum {
    R = 1 << 0,  /* Read */
    W = 1 << 1,  /* Write */
    D = 1 << 2,  /* Describe: part of Read and of Write */
    C = 1 << 3,  /* Create */
    DC = 1 << 4, /* DescribeConfigs */
    AC = 1 << 5, /* AlterConfigs */
    DL = 1 << 6, /* Delete: of records as well */
};

static const struct {
    const char *name;
    int kafka;
} operations[OPERATIONS] = {
    {"Read", RD_KAFKA_ACL_OPERATION_READ},
    {"Write", RD_KAFKA_ACL_OPERATION_WRITE},
    {"Describe", RD_KAFKA_ACL_OPERATION_DESCRIBE},
    {"Create", RD_KAFKA_ACL_OPERATION_CREATE},
    {"DescribeConfigs", RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS},
    {"AlterConfigs", RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS},
    {"Delete", RD_KAFKA_ACL_OPERATION_DELETE},
};

/* NAME stands for the agent or application; '*' at the end: all names that begin so. */
struct right {
    enum { NONE, TOPIC, GROUP, FOREIGN_GROUP } kind; /* a topic or group of the prefix, or not */
    const char *name;
    unsigned operations;
};

struct row {
    const char *program; /* NULL: every program of reeve */
    const char *label;   /* in the docs */
    bool per_agent;
    bool per_app;    /* has users of the applications' own, who are not programs of reeve */
    bool reads_apps; /* NAME stands for each application in turn */
    struct right rights[RIGHTS_MAX];
};

static const struct row rows[] = {
    {.label = "every program of reeve",
     .rights = {{TOPIC, "schemas", R},
                {TOPIC, "commands", D | DC},
                {TOPIC, "events", D | DC},
                {FOREIGN_GROUP, "reeve-reader", D}}},
    {.program = "submission",
     .label = "submission",
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "submissions", R | D | DC},
                {TOPIC, "workflows", R},
                {TOPIC, "commands", W},
                {TOPIC, "dead-letters", W},
                {TOPIC, "replies.*", W},
                {GROUP, "submission", R}}},
    {.program = "scheduler",
     .label = "scheduler; also `partition reset`, `waiting`",
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "commands", R | W},
                {TOPIC, "events", R | W | DL},
                {TOPIC, "workflows", R},
                {TOPIC, "agents", R},
                {TOPIC, "requests.*", W},
                {TOPIC, "replies.*", W},
                {TOPIC, "alerts", R | W},
                {TOPIC, "dead-letters", W},
                {GROUP, "scheduler", R}}},
    {.program = "supervisor",
     .label = "supervisor",
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "events", R},
                {TOPIC, "leadership", R | W},
                {TOPIC, "workflows", R},
                {TOPIC, "schedules", R},
                {TOPIC, "agents", R | W},
                {TOPIC, "commands", W},
                {TOPIC, "submissions", W | DC},
                {TOPIC, "alerts", W},
                {GROUP, "supervisor", R}}},
    {.program = "agent",
     .label = "agent NAME",
     .per_agent = true,
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "requests.NAME", R},
                {TOPIC, "commands", W},
                {TOPIC, "dead-letters", W},
                {TOPIC, "agents", W},
                {GROUP, "agent.NAME", R}}},
    {.program = "console",
     .label = "console; also `verify`, `replay`",
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "events", R},
                {TOPIC, "alerts", R | W},
                {TOPIC, "workflows", R | W},
                {TOPIC, "schedules", R | W},
                {TOPIC, "agents", R | W},
                {TOPIC, "dead-letters", R | W},
                {TOPIC, "commands", W},
                {TOPIC, "submissions", W | D | DC},
                {TOPIC, "requests.*", W},
                {TOPIC, "replies.*", W}}},
    /* It only reads, but librdkafka starts an idempotent producer for no user who may write
     * nowhere. */
    {.program = "leader",
     .label = "`reeve leader`",
     .rights = {{TOPIC, "leadership", R}, {TOPIC, "schemas", W}}},
    {.program = "candidate",
     .label = "a program with the leader SDK",
     .rights = {{TOPIC, "leadership", R | W}}},
    {.program = "submit",
     .label = "`reeve submit`, `import`, `cancel`",
     .reads_apps = true,
     .rights = {{TOPIC, "replies.NAME", R}, {TOPIC, "workflows", R}, {TOPIC, "submissions", W}}},
    {.program = "admin",
     .label = "`topics apply`, `workflow deploy`, `schedule`",
     .rights = {{TOPIC, "schemas", W},
                {TOPIC, "workflows", R | W},
                {TOPIC, "schedules", R | W},
                {TOPIC, "submissions", W},
                {TOPIC, "agents", R},
                {TOPIC, "*", D | C | DC | AC}}},
    {.program = "app",
     .label = "application NAME",
     .per_app = true,
     .rights = {{TOPIC, "replies.NAME", R},
                {TOPIC, "schemas", R},
                {TOPIC, "submissions", W},
                {FOREIGN_GROUP, "NAME", R},
                {FOREIGN_GROUP, "NAME-*", R}}},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- rules ---- */

struct making {
    const struct rights_plan *plan;
    struct rights_rule *rules;
    size_t count;
    size_t size;
    char program[RIGHTS_PROGRAM_SIZE];
    char principal[RIGHTS_PRINCIPAL_SIZE];
};

/* "agent.stock"; `name` may be NULL. */
static void write_program(const struct row *row, const char *name,
                          char ret_program[RIGHTS_PROGRAM_SIZE])
{
    int size = snprintf(ret_program, RIGHTS_PROGRAM_SIZE, "%s%s%s", row->program,
                        name != NULL ? "." : "", name != NULL ? name : "");
    assert(size < RIGHTS_PROGRAM_SIZE);
}

static enum error_class write_principal(struct making *making, struct error *ret_error)
{
    const struct rights_plan *plan = making->plan;
    const char *user = NULL;
    char made[RIGHTS_PRINCIPAL_SIZE];
    for (size_t i = 0; i < plan->principal_count; i++) {
        if (strcmp(plan->principals[i].program, making->program) == 0)
            user = plan->principals[i].user;
    }
    if (user == NULL) {
        snprintf(made, sizeof(made), "%.*s%s", PREFIX_BYTES_MAX, plan->user_prefix,
                 making->program);
        for (char *dot = made + strnlen(plan->user_prefix, PREFIX_BYTES_MAX); *dot != '\0'; dot++) {
            if (*dot == '.') {
                *dot = '-';
                break;
            }
        }
        user = made;
    }
    bool has_type = strncmp(user, "User:", 5) == 0 || strncmp(user, "Group:", 6) == 0;
    int size = snprintf(making->principal, sizeof(making->principal), "%s%s",
                        has_type ? "" : "User:", user);
    if ((size_t)size < sizeof(making->principal) && strlen(plan->user_prefix) <= PREFIX_BYTES_MAX)
        return ERROR_OK;
    return error_set(ret_error, CODE_USAGE,
                     "the user of %s has a name of %d bytes; the limit is %d", making->program,
                     size, RIGHTS_PRINCIPAL_SIZE - 1);
}

/* The right's name with NAME replaced, and with the prefix of the installation. */
static void write_name(const struct making *making, const struct right *right, const char *name,
                       struct rights_rule *rule)
{
    const char *prefix = right->kind == FOREIGN_GROUP ? "" : making->plan->topics->prefix;
    const char *variable = strstr(right->name, "NAME");
    size_t fixed = variable != NULL ? (size_t)(variable - right->name) : strlen(right->name);
    const char *rest = variable != NULL ? variable + strlen("NAME") : "";
    assert((variable != NULL) <= (name != NULL));
    int size = snprintf(rule->name, sizeof(rule->name), "%s%s%.*s%s%s", prefix,
                        prefix[0] != '\0' ? "." : "", (int)fixed, right->name,
                        variable != NULL ? name : "", rest);
    assert(size > 0 && (size_t)size < sizeof(rule->name));
    rule->is_prefix = rule->name[size - 1] == '*';
    if (rule->is_prefix)
        rule->name[size - 1] = '\0';
}

static bool is_same(const struct rights_rule *one, const struct rights_rule *other)
{
    return strcmp(one->principal, other->principal) == 0 && one->is_group == other->is_group &&
           one->is_prefix == other->is_prefix && strcmp(one->name, other->name) == 0 &&
           one->kafka_operation == other->kafka_operation;
}

static void add_rule(struct making *making, const struct rights_rule *rule)
{
    for (size_t i = 0; i < making->count; i++) {
        if (is_same(&making->rules[i], rule))
            return;
    }
    if (making->count == making->size) {
        making->size = making->size > 0 ? 2 * making->size : 64;
        making->rules = realloc(making->rules, making->size * sizeof(*making->rules));
        assert(making->rules != NULL);
    }
    making->rules[making->count++] = *rule;
}

static void add_right(struct making *making, const struct right *right, const char *name)
{
    struct rights_rule rule = {.is_group = right->kind != TOPIC};
    memcpy(rule.program, making->program, sizeof(rule.program));
    memcpy(rule.principal, making->principal, sizeof(rule.principal));
    write_name(making, right, name, &rule);
    for (int i = 0; i < OPERATIONS; i++) {
        if ((right->operations & (1u << i)) == 0)
            continue;
        rule.operation = operations[i].name;
        rule.kafka_operation = operations[i].kafka;
        add_rule(making, &rule);
    }
}

static void add_rights(struct making *making, const struct row *row, const char *name)
{
    for (int i = 0; i < RIGHTS_MAX && row->rights[i].kind != NONE; i++) {
        const struct right *right = &row->rights[i];
        bool each_app = row->reads_apps && strstr(right->name, "NAME") != NULL;
        if (!each_app)
            add_right(making, right, name);
        for (size_t app = 0; each_app && app < making->plan->app_count; app++)
            add_right(making, right, making->plan->apps[app]);
    }
}

static enum error_class add_program(struct making *making, const struct row *row, const char *name,
                                    struct error *ret_error)
{
    write_program(row, name, making->program);
    enum error_class class = write_principal(making, ret_error);
    if (class != ERROR_OK)
        return class;
    if (!row->per_app)
        add_rights(making, &rows[0], NULL);
    add_rights(making, row, name);
    return ERROR_OK;
}

/* The names of the row's users; one that is NULL if there is one user without a name. */
static const char *const *names_of(const struct rights_plan *plan, const struct row *row,
                                   size_t *ret_count)
{
    static const char *const one[] = {NULL};
    *ret_count = row->per_agent ? plan->agent_count : row->per_app ? plan->app_count : 1;
    return row->per_agent ? plan->agents : row->per_app ? plan->apps : one;
}

bool rights_has_program(const struct rights_plan *plan, const char *program)
{
    char found[RIGHTS_PROGRAM_SIZE];
    for (size_t i = 1; i < ROWS; i++) {
        size_t count;
        const char *const *names = names_of(plan, &rows[i], &count);
        for (size_t j = 0; j < count; j++) {
            write_program(&rows[i], names[j], found);
            if (strcmp(found, program) == 0)
                return true;
        }
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct rights_rule *one = a;
    const struct rights_rule *other = b;
    int order = strcmp(one->principal, other->principal);
    if (order == 0)
        order = (int)one->is_group - (int)other->is_group;
    if (order == 0)
        order = strcmp(one->name, other->name);
    if (order == 0)
        order = (int)one->is_prefix - (int)other->is_prefix;
    return order != 0 ? order : one->kafka_operation - other->kafka_operation;
}

enum error_class rights_rules(const struct rights_plan *plan, struct rights_rule **ret_rules,
                              size_t *ret_count, struct error *ret_error)
{
    struct making making = {.plan = plan};
    enum error_class class = ERROR_OK;
    assert(rows[0].program == NULL);
    for (size_t i = 1; i < ROWS && class == ERROR_OK; i++) {
        size_t count;
        const char *const *names = names_of(plan, &rows[i], &count);
        for (size_t j = 0; j < count && class == ERROR_OK; j++)
            class = add_program(&making, &rows[i], names[j], ret_error);
    }
    if (class != ERROR_OK) {
        free(making.rules);
        return class;
    }
    qsort(making.rules, making.count, sizeof(*making.rules), compare);
    *ret_rules = making.rules;
    *ret_count = making.count;
    return ERROR_OK;
}

/* ---- the table in the docs ---- */

/* The prefix is `orders` there, and left away at topics. */
static void write_cell_name(FILE *out, const struct right *right, size_t *written)
{
    fprintf(out, "%s`%s%s`", (*written)++ > 0 ? ", " : "", right->kind == GROUP ? "orders." : "",
            right->name);
}

static void write_topics(FILE *out, const struct row *row, int operation)
{
    size_t written = 0;
    for (int i = 0; i < RIGHTS_MAX && row->rights[i].kind != NONE; i++) {
        const struct right *right = &row->rights[i];
        if (right->kind == TOPIC && (right->operations & (1u << operation)) != 0)
            write_cell_name(out, right, &written);
    }
}

static bool has_topics(const struct row *row, int operation)
{
    for (int i = 0; i < RIGHTS_MAX; i++) {
        if (row->rights[i].kind == TOPIC && (row->rights[i].operations & (1u << operation)) != 0)
            return true;
    }
    return false;
}

/* "DescribeConfigs: `commands`, `events`; ..." */
static void write_others(FILE *out, const struct row *row)
{
    bool first = true;
    for (int operation = 2; operation < OPERATIONS; operation++) {
        if (!has_topics(row, operation))
            continue;
        fprintf(out, "%s%s: ", first ? "" : "; ", operations[operation].name);
        write_topics(out, row, operation);
        first = false;
    }
}

static void write_groups(FILE *out, const struct row *row)
{
    size_t written = 0;
    for (int i = 0; i < RIGHTS_MAX && row->rights[i].kind != NONE; i++) {
        const struct right *right = &row->rights[i];
        if (right->kind == TOPIC)
            continue;
        write_cell_name(out, right, &written);
        if (right->operations != R)
            fprintf(out, " (Describe)");
    }
}

void rights_markdown(FILE *out)
{
    fprintf(out, "| program | `--principal` | Read | Write | other operations | groups (Read) |\n"
                 "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        fprintf(out, "| %s | ", row->label);
        if (row->program != NULL)
            fprintf(out, "`%s%s`", row->program, row->per_agent || row->per_app ? ".NAME" : "");
        fprintf(out, " | ");
        write_topics(out, row, 0);
        fprintf(out, " | ");
        write_topics(out, row, 1);
        fprintf(out, " | ");
        write_others(out, row);
        fprintf(out, " | ");
        write_groups(out, row);
        fprintf(out, " |\n");
    }
}
