/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for the SASL mechanism OAUTHBEARER, from a file or from a program that prints one. All
 * handles of a client share one source, which reads again when most of a token's life is over.
 *
 * librdkafka asks for a token on a thread of its own for each handle (its background thread), where
 * reading may block: neither the loop nor a broker's thread waits. Only client*.c and topics/
 * include this. */
#ifndef KAFKA_OAUTH_H
#define KAFKA_OAUTH_H

#include "kafka/client.h"

#include <librdkafka/rdkafka.h>

struct kafka_oauth;

/* New. NULL: no file and no command; librdkafka's own ways to get a token remain. */
struct kafka_oauth *kafka_oauth_new(const struct kafka_token_options *options);
/* The handle that is made from `conf` asks `oauth` (may be NULL), which outlives it. */
void kafka_oauth_attach(struct kafka_oauth *oauth, rd_kafka_conf_t *conf);
/* Right after it was made. Does nothing for other mechanisms. */
void kafka_oauth_begin(rd_kafka_t *rk);
/* No read takes longer from now on: call it before the handles are destroyed. NULL does nothing. */
void kafka_oauth_stop(struct kafka_oauth *oauth);
/* All handles are destroyed. */
void kafka_oauth_free(struct kafka_oauth *oauth);

enum { KAFKA_OAUTH_TEXT_SIZE = ERROR_MESSAGE_SIZE };

enum kafka_oauth_news { KAFKA_OAUTH_NO_NEWS, KAFKA_OAUTH_FAILS, KAFKA_OAUTH_WORKS_AGAIN };

/* What has not been reported yet; each failure once, however many handles it affects. *ret_fails:
 * whether the last read failed. */
enum kafka_oauth_news kafka_oauth_take_news(struct kafka_oauth *oauth, bool *ret_fails,
                                            char ret_reason[KAFKA_OAUTH_TEXT_SIZE]);

#endif
