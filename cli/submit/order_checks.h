/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a client before it submits: the workflow is deployed, the reply topic exists. The
 * submission service checks all of it again; here mistakes are reported at once. */
#ifndef CLI_SUBMIT_ORDER_CHECKS_H
#define CLI_SUBMIT_ORDER_CHECKS_H

#include "replica/cluster/cluster.h"

struct order_checks {
    struct cluster *cluster;
    /* The last ones that were found: most orders of a file have the same. */
    char workflow[NAME_BYTES_MAX + 1];
    uint32_t workflow_version;
    char reply_to[TOPIC_NAME_SIZE];
};

/* The cluster follows workflows. */
void order_checks_init(struct order_checks *checks, struct cluster *cluster);
/* REJECT: UnknownWorkflow (names those that are deployed), BadReplyTopic, UnknownReplyTopic. */
enum error_class order_checks_pass(struct order_checks *checks, const struct order_details *details,
                                   struct error *ret_error);
/* Afterwards: whether the input, which is canonical, has the shape that the workflow asks for.
 * REJECT "InvalidInput". */
enum error_class order_checks_input(const struct order_checks *checks,
                                    const struct order_details *details, struct error *ret_error);

#endif
