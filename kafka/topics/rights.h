/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of each program on a broker that refuses what is not granted: the one table of them,
 * as access rules (ACLs) for the users of one installation. docs/operate/kafka.md shows the table;
 * tests/kafka/test_access.py grants it and runs every program with it. */
#ifndef KAFKA_TOPICS_RIGHTS_H
#define KAFKA_TOPICS_RIGHTS_H

#include "kafka/topics/topics.h"

#include <stdio.h>

enum {
    RIGHTS_PROGRAM_SIZE = NAME_BYTES_MAX + 8, /* "agent." and a name */
    RIGHTS_PRINCIPAL_SIZE = 256,
    RIGHTS_GROUP_BYTES_MAX = TOPICS_PREFIX_BYTES_MAX + NAME_BYTES_MAX + 8,
    RIGHTS_NAME_SIZE =
        (RIGHTS_GROUP_BYTES_MAX > TOPIC_BYTES_MAX ? RIGHTS_GROUP_BYTES_MAX : TOPIC_BYTES_MAX) + 1
};

/* The user of one program. */
struct rights_principal {
    const char *program; /* "scheduler", "agent.stock", "app.web" */
    const char *user;    /* "ann", "User:CN=ann,O=example" */
};

struct rights_plan {
    const struct kafka_client_options *kafka; /* of rights_apply() and rights_check() */
    const struct topics *topics;
    const char *const *agents; /* a user each */
    size_t agent_count;
    const char *const *apps; /* likewise; `submit` reads all their replies topics */
    size_t app_count;
    const char *user_prefix; /* of the users that are not listed: "reeve-" and "agent-stock" */
    const struct rights_principal *principals;
    size_t principal_count;
};

struct rights_rule {
    char program[RIGHTS_PROGRAM_SIZE];     /* the first one, if several have the same user */
    char principal[RIGHTS_PRINCIPAL_SIZE]; /* "User:reeve-scheduler" */
    bool is_group;                         /* else a topic */
    bool is_prefix;                        /* `name` is how the names begin */
    char name[RIGHTS_NAME_SIZE];
    const char *operation; /* "DescribeConfigs" */
    int kafka_operation;   /* as librdkafka numbers them */
};

/* Whether `program` is one that the plan grants rights to. */
bool rights_has_program(const struct rights_plan *plan, const char *program);
/* New array without repetitions, ordered by user, resource and operation. REJECT "Usage": a
 * user's name is too long. */
enum error_class rights_rules(const struct rights_plan *plan, struct rights_rule **ret_rules,
                              size_t *ret_count, struct error *ret_error);
/* The table, for docs. */
void rights_markdown(FILE *out);

/* ---- on a cluster: for the CLI. These block. ---- */

enum rights_finding { RIGHTS_CREATED, RIGHTS_EXISTS, RIGHTS_MISSING, RIGHTS_FINDING_COUNT };

/* `rule` is borrowed during the call. */
typedef void (*rights_report)(void *ctx, enum rights_finding finding,
                              const struct rights_rule *rule);

/* Adds the rules that are missing; removes none. REJECT: brokers without an authorizer,
 * a user who may not Alter the cluster. RETRY: the brokers do not answer. */
enum error_class rights_apply(const struct rights_plan *plan, rights_report report, void *ctx,
                              struct error *ret_error);
/* Only reports. The user must be allowed to Describe the cluster. */
enum error_class rights_check(const struct rights_plan *plan, rights_report report, void *ctx,
                              struct error *ret_error);

#endif
