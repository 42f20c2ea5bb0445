/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of a prefix: their names and specifications; creating, correcting and checking them.
 *
 *     <p>.submissions        N  delete, 7 days     <p>.workflows     1  delete, kept for ever
 *     <p>.commands           N  delete, 7 days     <p>.schemas       1  compact
 *     <p>.events             N  delete, for ever   <p>.agents        1  compact
 *     <p>.requests.<agent>   N  delete, 1 day      <p>.alerts        N  delete, 30 days
 *     <p>.replies.<app>      N  delete, 7 days     <p>.leadership    1  delete, 7 days
 *     <p>.schedules          1  compact            <p>.dead-letters  N  delete, 30 days
 *
 * All: LogAppendTime, no unclean election, no limit by size, messages up to the largest record;
 * min.insync.replicas is 2 from 3 replicas on. N cannot change once the topics exist. */
#ifndef KAFKA_TOPICS_TOPICS_H
#define KAFKA_TOPICS_TOPICS_H

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "kafka/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOPIC_NAME_SIZE = TOPIC_BYTES_MAX + 1,
    /* The names of the longest agents fit as well. */
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
    char schedules[TOPIC_NAME_SIZE];
    char agents[TOPIC_NAME_SIZE];
    char alerts[TOPIC_NAME_SIZE];
    char leadership[TOPIC_NAME_SIZE];
    char dead_letters[TOPIC_NAME_SIZE];
};

/* REJECT "Config" if the prefix is empty, too long, or has characters other than [A-Za-z0-9._-]. */
enum error_class topics_init(struct topics *topics, const char *prefix, struct error *ret_error);
/* <p>.requests.<agent>. Asserts name_valid(agent). */
void topics_requests(const struct topics *topics, struct text agent,
                     char ret_name[TOPIC_NAME_SIZE]);
/* <p>.replies.<app>, likewise. */
void topics_replies(const struct topics *topics, struct text app, char ret_name[TOPIC_NAME_SIZE]);
/* Whether `name` is <p>.replies.<a valid name>: the only topics that reply_to may name. */
bool topics_is_reply(const struct topics *topics, struct text name);

/* Whether `name` is <p>.requests.<a valid name>. */
bool topics_is_requests(const struct topics *topics, struct text name);

/* ---- applying and checking: for the CLI and at the start. These block. ---- */

struct topics_plan {
    const struct kafka_client_options *kafka;
    const struct topics *topics;
    int32_t partitions;         /* N; 0 = that of commands (check only) */
    int32_t replication_factor; /* 0 = that of commands, or 1 without one; check: not compared */
    bool allow_weaker;          /* apply: lowers durability where the plan does */
    const char *const *agents;  /* that have requests topics */
    size_t agent_count;
    const char *const *apps; /* that have replies topics */
    size_t app_count;
    int timeout_ms; /* of each request; 0 = 15000 */
};

enum topics_finding {
    TOPICS_CREATED,
    TOPICS_CHANGED,
    TOPICS_DIFFERS, /* differs from its specification */
    TOPICS_FINDING_COUNT
};

/* The topic of a finding about the cluster. */
#define TOPICS_BROKERS "brokers"

/* `line` for operators: "orders.events: retention.ms is 604800000; expected -1". Borrowed. */
typedef void (*topics_report)(void *ctx, enum topics_finding finding, const char *topic,
                              const char *line);

/* Creates missing topics and corrects settings, also those of existing requests and replies topics
 * that are not in the plan. Never changes a number of partitions or replicas; reports these as
 * differences. OK even with differences; RETRY if the brokers do not answer. REJECT
 * "WeakerDurability", before anything is changed: min.insync.replicas would become lower, or a new
 * topic would have fewer replicas than commands has. `report` may be NULL. */
enum error_class topics_apply(const struct topics_plan *plan, topics_report report, void *ctx,
                              struct error *ret_error);
/* Creates the requests and replies topics of the plan that are missing, and changes no other topic.
 * Errors as above. */
enum error_class topics_create(const struct topics_plan *plan, struct error *ret_error);
/* Only reports. */
enum error_class topics_check(const struct topics_plan *plan, topics_report report, void *ctx,
                              struct error *ret_error);
/* Deletes every topic whose name begins with the prefix and a dot, for temporary installations. */
enum error_class topics_delete(const struct kafka_client_options *kafka,
                               const struct topics *topics, struct error *ret_error);
/* Whether a broker of this cluster answers within this time, and is known to its controller: topics
 * can be created there. REJECT "Config" if the settings are invalid. */
enum error_class topics_ask_broker(const struct kafka_client_options *kafka, const char *cluster_id,
                                   int timeout_ms, bool *ret_answers, struct error *ret_error);

#define TOPICS_VERSION_NEW "4.0 or newer"
enum { TOPICS_VERSION_SIZE = 16 };

struct topics_broker {
    int32_t id;
    const char *host; /* borrowed, for the call */
    int port;
    char version[TOPICS_VERSION_SIZE]; /* "3.9", TOPICS_VERSION_NEW; "": it cannot be known */
};

typedef void (*topics_broker_found)(void *ctx, const struct topics_broker *broker);

/* The brokers that the cluster lists, each of which is asked for its settings. Errors as of
 * topics_check(). */
enum error_class topics_list_brokers(const struct kafka_client_options *kafka, int timeout_ms,
                                     topics_broker_found found, void *ctx, struct error *ret_error);

/* Checks what a service needs before it starts: commands, events and (if this user may see it)
 * submissions exist, have the same number of partitions and the settings that nothing is lost or
 * misjudged without, and events keeps its records for ever. REJECT "Topics" with the first
 * difference, "Denied" without the right to see the settings. */
enum error_class topics_check_start(const struct topics_plan *plan, struct error *ret_error);

#endif
