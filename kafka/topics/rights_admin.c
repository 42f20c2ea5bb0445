/* SPDX-License-Identifier: Apache-2.0 */
/* Adds and checks access rules with librdkafka's admin API. See rights.h. */
#include "kafka/client_internal.h"
#include "kafka/topics/internal.h"
#include "kafka/topics/rights.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, SETTLE_MS = 100, SETTLE_TRIES = 50, REASON_SIZE = 256 };

struct granting {
    const struct rights_plan *plan;
    struct topics_client client;
    rd_kafka_queue_t *queue;
    struct rights_rule *rules;
    bool *exists; /* of each rule */
    size_t count;
};

static enum error_class fail(rd_kafka_resp_err_t code, const char *reason, struct error *ret_error)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_SECURITY_DISABLED:
        return error_set(ret_error, CODE_NO_AUTHORIZER,
                         "the brokers have no authorizer (authorizer.class.name): without one "
                         "there are no access rules, and every user may do everything");
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        return error_set(ret_error, CODE_NOT_AUTHORIZED,
                         "this user may not see or change access rules: that takes Describe and "
                         "Alter on the cluster");
    default:
        return error_set_as(ret_error, kafka_error_class(code), CODE_ACLS, "access rules: %.300s",
                            reason);
    }
}

static enum error_class open_granting(struct granting *granting, struct error *ret_error)
{
    const struct rd_kafka_metadata *metadata = NULL;
    enum error_class class =
        rights_rules(granting->plan, &granting->rules, &granting->count, ret_error);
    if (class == ERROR_OK)
        class = topics_client_open(&granting->client, granting->plan->kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    granting->exists = calloc(granting->count + 1, sizeof(*granting->exists));
    assert(granting->exists != NULL);
    granting->queue = rd_kafka_queue_new(granting->client.rk);
    class = topics_client_metadata(&granting->client, TIMEOUT_MS, &metadata, ret_error);
    if (class == ERROR_OK)
        rd_kafka_metadata_destroy(metadata);
    return class;
}

static void close_granting(struct granting *granting)
{
    if (granting->queue != NULL)
        rd_kafka_queue_destroy(granting->queue);
    topics_client_close(&granting->client);
    free(granting->rules);
    free(granting->exists);
}

/* The result of a request, new; NULL with an error. */
static rd_kafka_event_t *await(struct granting *granting, struct error *ret_error)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(granting->queue, TIMEOUT_MS + 1000);
    rd_kafka_resp_err_t code =
        event != NULL ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return event;
    fail(code, event != NULL ? rd_kafka_event_error_string(event) : rd_kafka_err2str(code),
         ret_error);
    rd_kafka_event_destroy(event);
    return NULL;
}

static rd_kafka_AdminOptions_t *new_options(struct granting *granting, rd_kafka_admin_op_t op)
{
    char reason[REASON_SIZE];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(granting->client.rk, op);
    rd_kafka_resp_err_t code =
        rd_kafka_AdminOptions_set_request_timeout(options, TIMEOUT_MS, reason, sizeof(reason));
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    return options;
}

/* ---- creating ---- */

static rd_kafka_ResourceType_t type_of(const struct rights_rule *rule)
{
    return rule->is_group ? RD_KAFKA_RESOURCE_GROUP : RD_KAFKA_RESOURCE_TOPIC;
}

static rd_kafka_ResourcePatternType_t pattern_of(const struct rights_rule *rule)
{
    return rule->is_prefix ? RD_KAFKA_RESOURCE_PATTERN_PREFIXED : RD_KAFKA_RESOURCE_PATTERN_LITERAL;
}

static rd_kafka_AclBinding_t *new_binding(const struct rights_rule *rule)
{
    char reason[REASON_SIZE];
    rd_kafka_AclBinding_t *binding =
        rd_kafka_AclBinding_new(type_of(rule), rule->name, pattern_of(rule), rule->principal, "*",
                                (rd_kafka_AclOperation_t)rule->kafka_operation,
                                RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, reason, sizeof(reason));
    assert(binding != NULL);
    return binding;
}

static enum error_class check_results(rd_kafka_event_t *event, rd_kafka_resp_err_t *ret_code,
                                      struct error *ret_error)
{
    size_t count;
    const rd_kafka_acl_result_t **results =
        rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_error_t *error = rd_kafka_acl_result_error(results[i]);
        if (error == NULL)
            continue;
        *ret_code = rd_kafka_error_code(error);
        return fail(*ret_code, rd_kafka_error_string(error), ret_error);
    }
    return ERROR_OK;
}

/* The first error among the results of creating these. */
static enum error_class create(struct granting *granting, rd_kafka_AclBinding_t **bindings,
                               size_t count, rd_kafka_resp_err_t *ret_code, struct error *ret_error)
{
    rd_kafka_AdminOptions_t *options = new_options(granting, RD_KAFKA_ADMIN_OP_CREATEACLS);
    rd_kafka_CreateAcls(granting->client.rk, bindings, count, options, granting->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_event_t *event = await(granting, ret_error);
    if (event == NULL)
        return ret_error->class;
    enum error_class class = check_results(event, ret_code, ret_error);
    rd_kafka_event_destroy(event);
    return class;
}

/* ---- which exist ---- */

static bool is_rule(const rd_kafka_AclBinding_t *binding, const struct rights_rule *rule)
{
    return rd_kafka_AclBinding_restype(binding) == type_of(rule) &&
           rd_kafka_AclBinding_resource_pattern_type(binding) == pattern_of(rule) &&
           (int)rd_kafka_AclBinding_operation(binding) == rule->kafka_operation &&
           rd_kafka_AclBinding_permission_type(binding) == RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW &&
           strcmp(rd_kafka_AclBinding_host(binding), "*") == 0 &&
           strcmp(rd_kafka_AclBinding_name(binding), rule->name) == 0 &&
           strcmp(rd_kafka_AclBinding_principal(binding), rule->principal) == 0;
}

/* Returns how many rules there are, of any user. */
static size_t note(struct granting *granting, rd_kafka_event_t *event)
{
    size_t count;
    const rd_kafka_AclBinding_t **bindings =
        rd_kafka_DescribeAcls_result_acls(rd_kafka_event_DescribeAcls_result(event), &count);
    memset(granting->exists, 0, granting->count * sizeof(*granting->exists));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < granting->count; j++)
            if (is_rule(bindings[i], &granting->rules[j]))
                granting->exists[j] = true;
    return count;
}

/* librdkafka 2.0 drops the error of the response that lists no rules. A rule that no broker accepts
 * gets it: a user that may see rules when there are none is a super user, which may create some. */
static enum error_class probe(struct granting *granting, struct error *ret_error)
{
    char reason[REASON_SIZE];
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_AclBinding_t *binding = rd_kafka_AclBinding_new(
        RD_KAFKA_RESOURCE_BROKER, "not-the-cluster", RD_KAFKA_RESOURCE_PATTERN_LITERAL,
        "User:reeve", "*", RD_KAFKA_ACL_OPERATION_DESCRIBE, RD_KAFKA_ACL_PERMISSION_TYPE_DENY,
        reason, sizeof(reason));
    assert(binding != NULL);
    enum error_class class = create(granting, &binding, 1, &code, ret_error);
    rd_kafka_AclBinding_destroy(binding);
    return code == RD_KAFKA_RESP_ERR_INVALID_REQUEST ? ERROR_OK : class;
}

/* Reads all rules. */
static enum error_class look(struct granting *granting, struct error *ret_error)
{
    char reason[REASON_SIZE];
    rd_kafka_AclBindingFilter_t *filter = rd_kafka_AclBindingFilter_new(
        RD_KAFKA_RESOURCE_ANY, NULL, RD_KAFKA_RESOURCE_PATTERN_ANY, NULL, NULL,
        RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, reason, sizeof(reason));
    assert(filter != NULL);
    rd_kafka_AdminOptions_t *options = new_options(granting, RD_KAFKA_ADMIN_OP_DESCRIBEACLS);
    rd_kafka_DescribeAcls(granting->client.rk, filter, options, granting->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_AclBinding_destroy(filter);
    rd_kafka_event_t *event = await(granting, ret_error);
    if (event == NULL)
        return ret_error->class;
    size_t count = note(granting, event);
    rd_kafka_event_destroy(event);
    return count > 0 ? ERROR_OK : probe(granting, ret_error);
}

/* ---- apply and check ---- */

static enum error_class create_missing(struct granting *granting, struct error *ret_error)
{
    size_t count = 0;
    rd_kafka_resp_err_t code;
    rd_kafka_AclBinding_t **bindings = calloc(granting->count + 1, sizeof(rd_kafka_AclBinding_t *));
    assert(bindings != NULL);
    for (size_t i = 0; i < granting->count; i++)
        if (!granting->exists[i])
            bindings[count++] = new_binding(&granting->rules[i]);
    enum error_class class =
        count > 0 ? create(granting, bindings, count, &code, ret_error) : ERROR_OK;
    rd_kafka_AclBinding_destroy_array(bindings, count);
    free(bindings);
    return class;
}

static size_t missing_count(const struct granting *granting)
{
    size_t missing = 0;
    for (size_t i = 0; i < granting->count; i++)
        missing += !granting->exists[i];
    return missing;
}

/* Brokers learn of a new rule some time after the controller has confirmed it. */
static enum error_class wait_for_effect(struct granting *granting, struct error *ret_error)
{
    enum error_class class = look(granting, ret_error);
    for (int tries = 0; class == ERROR_OK && missing_count(granting) > 0; tries++) {
        if (tries == SETTLE_TRIES)
            return error_set(ret_error, CODE_ACLS,
                             "the brokers have taken %zu access rules but do not list them yet: "
                             "repeat the command",
                             missing_count(granting));
        rd_kafka_event_destroy(rd_kafka_queue_poll(granting->queue, SETTLE_MS));
        class = look(granting, ret_error);
    }
    return class;
}

static enum error_class apply(struct granting *granting, rights_report report, void *ctx,
                              struct error *ret_error)
{
    size_t size = granting->count * sizeof(*granting->exists);
    bool *before = malloc(size + 1);
    assert(before != NULL);
    memcpy(before, granting->exists, size);
    enum error_class class = create_missing(granting, ret_error);
    if (class == ERROR_OK)
        class = wait_for_effect(granting, ret_error);
    for (size_t i = 0; i < granting->count && class == ERROR_OK; i++)
        report(ctx, before[i] ? RIGHTS_EXISTS : RIGHTS_CREATED, &granting->rules[i]);
    free(before);
    return class;
}

enum error_class rights_apply(const struct rights_plan *plan, rights_report report, void *ctx,
                              struct error *ret_error)
{
    struct granting granting = {.plan = plan};
    enum error_class class = open_granting(&granting, ret_error);
    if (class == ERROR_OK)
        class = look(&granting, ret_error);
    if (class == ERROR_OK)
        class = apply(&granting, report, ctx, ret_error);
    close_granting(&granting);
    return class;
}

enum error_class rights_check(const struct rights_plan *plan, rights_report report, void *ctx,
                              struct error *ret_error)
{
    struct granting granting = {.plan = plan};
    enum error_class class = open_granting(&granting, ret_error);
    if (class == ERROR_OK)
        class = look(&granting, ret_error);
    for (size_t i = 0; i < granting.count && class == ERROR_OK; i++)
        report(ctx, granting.exists[i] ? RIGHTS_EXISTS : RIGHTS_MISSING, &granting.rules[i]);
    close_granting(&granting);
    return class;
}
