/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the reply topics of some orders until all of them have ended. */
#ifndef CLI_SUBMIT_REPLY_WATCH_H
#define CLI_SUBMIT_REPLY_WATCH_H

#include "cli/session.h"

struct reply_watch;

/* Each status of an order that is waited for, once, in order of its topic. Borrowed for the
 * call. */
typedef void (*reply_watch_status)(void *ctx, const struct status_update *status);

struct reply_watch *reply_watch_new(struct cli_session *session, reply_watch_status status,
                                    void *ctx);
void reply_watch_free(struct reply_watch *watch);

/* Begins to read `topic` at its present end; does nothing if it is read already. Call before
 * submitting. REJECT "UnknownReplyTopic". */
enum error_class reply_watch_topic(struct reply_watch *watch, struct text topic,
                                   struct error *ret_error);
/* Adds an order to those that are waited for. */
void reply_watch_order(struct reply_watch *watch, struct text order_id);
/* Runs the loop until every order has ended, was rejected, or is in Error. RETRY when that takes
 * longer than timeout_ms. */
enum error_class reply_watch_wait(struct reply_watch *watch, int64_t timeout_ms,
                                  struct error *ret_error);
/* Of the orders waited for: how many ended Processed, and how many otherwise. */
uint64_t reply_watch_others(const struct reply_watch *watch);

#endif
