/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of a prefix: their names, what they must be like, and making them so.
 *
 *     <p>.submissions        N  delete, 7 days     <p>.workflows     1  delete, kept for ever
 *     <p>.commands           N  delete, 7 days     <p>.schemas       1  compact
 *     <p>.events             N  delete, for ever   <p>.agents        1  compact
 *     <p>.requests.<agent>   N  delete, 1 day      <p>.alerts        N  delete, 30 days
 *     <p>.replies.<app>      N  delete, 7 days     <p>.leadership    1  delete, 7 days
 *                                                  <p>.dead-letters  N  delete, 30 days
 *
 * All: LogAppendTime, no unclean election, no limit by size, messages up to the largest record;
 * min.insync.replicas is 2 from 3 replicas on. N is fixed for good when the topics are made. */
#ifndef KAFKA_TOPICS_TOPICS_H
#define KAFKA_TOPICS_TOPICS_H

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "kafka/client.h"
#include "kafka/embedded.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOPIC_NAME_SIZE = TOPIC_BYTES_MAX + 1,
    /* So that every name with the longest agent fits. */
    TOPICS_PREFIX_BYTES_MAX = TOPIC_BYTES_MAX - NAME_BYTES_MAX - (int)sizeof(".requests.")
};

/* The names, NUL-terminated. */
struct topics {
    char prefix[TOPICS_PREFIX_BYTES_MAX + 1];
    char submissions[TOPIC_NAME_SIZE];
    char commands[TOPIC_NAME_SIZE];
    char events[TOPIC_NAME_SIZE];
    char workflows[TOPIC_NAME_SIZE];
    char schemas[TOPIC_NAME_SIZE];
    char agents[TOPIC_NAME_SIZE];
    char alerts[TOPIC_NAME_SIZE];
    char leadership[TOPIC_NAME_SIZE];
    char dead_letters[TOPIC_NAME_SIZE];
};

/* REJECT "Config" if the prefix is empty, too long or holds something else than [A-Za-z0-9._-]. */
enum error_class topics_init(struct topics *topics, const char *prefix, struct error *ret_error);
/* <p>.requests.<agent>. Asserts name_valid(agent). */
void topics_requests(const struct topics *topics, struct text agent,
                     char ret_name[TOPIC_NAME_SIZE]);
/* <p>.replies.<app>, likewise. */
void topics_replies(const struct topics *topics, struct text app, char ret_name[TOPIC_NAME_SIZE]);
/* Whether `name` is <p>.replies.<a valid name>: the only topics that reply_to may name. */
bool topics_is_reply(const struct topics *topics, struct text name);

/* How many replicas must be in sync to take a record: what `topics apply` sets. */
int topics_min_insync(int replicas);

/* ---- making and checking: for the CLI and at start. These block. ---- */

struct topics_plan {
    const struct kafka_client_options *kafka;
    const struct topics *topics;
    int32_t partitions;         /* N; 0 = what commands has (check only) */
    int32_t replication_factor; /* 0 = not looked at (check only) */
    const char *const *agents;  /* whose requests topics there must be */
    size_t agent_count;
    const char *const *apps; /* whose replies topics there must be */
    size_t app_count;
    int timeout_ms; /* of each request; 0 = 15000 */
};

enum topics_finding {
    TOPICS_CREATED,
    TOPICS_CHANGED,
    TOPICS_DIFFERS, /* still not as it should be */
    TOPICS_FINDING_COUNT
};

/* Stands for the topic in a finding about no topic but the cluster. */
#define TOPICS_BROKERS "brokers"

/* `line` says it for people: "orders.events: retention.ms is 604800000, should be -1". Borrowed. */
typedef void (*topics_report)(void *ctx, enum topics_finding finding, const char *topic,
                              const char *line);

/* Creates what is missing and corrects settings; requests and replies topics that exist beside the
 * plan's are corrected too. Never changes a number of partitions or replicas: that is reported as
 * a difference. OK even with differences; RETRY if the brokers do not answer; REJECT for embedded
 * brokers, whose host makes the topics. `report` may be NULL. */
enum error_class topics_apply(const struct topics_plan *plan, topics_report report, void *ctx,
                              struct error *ret_error);
/* Only reports. */
enum error_class topics_check(const struct topics_plan *plan, topics_report report, void *ctx,
                              struct error *ret_error);
/* Deletes every topic whose name begins with the prefix and a dot, for installations that were only
 * made for a while. */
enum error_class topics_delete(const struct kafka_client_options *kafka,
                               const struct topics *topics, struct error *ret_error);
/* What a service must know before it starts: commands and events exist, have the same number of
 * partitions, take LogAppendTime, and events keeps its records for ever. REJECT "Topics" with the
 * first difference. Embedded: only the first two. */
enum error_class topics_check_start(const struct topics_plan *plan, struct error *ret_error);
/* Makes the plan's topics in the embedded broker of this process. */
enum error_class topics_embed(const struct topics_plan *plan, struct embedded *embedded,
                              struct error *ret_error);

#endif
