/* SPDX-License-Identifier: Apache-2.0 */
/* What admin.c (topics) and admin_settings.c (their settings) share. */
#ifndef KAFKA_TOPICS_ADMIN_H
#define KAFKA_TOPICS_ADMIN_H

#include "kafka/topics/internal.h"

struct topics_admin {
    const struct topics_plan *plan;
    topics_report report;
    void *ctx;
    struct topics_client client;
    rd_kafka_t *rk; /* the client's */
    rd_kafka_queue_t *queue;
    int timeout_ms;
    const struct rd_kafka_metadata *metadata; /* of all topics */
    struct topics_spec *specs;
    size_t spec_count;
};

/* admin.c */
/* NULL: it does not exist. */
const struct rd_kafka_metadata_topic *topics_admin_find(const struct topics_admin *admin,
                                                        const char *name);
/* New; for one call. */
rd_kafka_AdminOptions_t *topics_admin_options(struct topics_admin *admin, rd_kafka_admin_op_t op);
/* The result event of an admin call, new; NULL with an error. */
rd_kafka_event_t *topics_admin_await(struct topics_admin *admin, const char *what,
                                     struct error *ret_error);
void topics_admin_report(struct topics_admin *admin, enum topics_finding finding, const char *topic,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* admin_settings.c */
/* Compares all settings, and corrects them if `correct`. REJECT "WeakerDurability", before any
 * change, if that would lower one and the plan does not allow it. *ret_count: the topics that
 * differed. */
enum error_class topics_admin_check_settings(struct topics_admin *admin, bool correct,
                                             size_t *ret_count, struct error *ret_error);

#endif
