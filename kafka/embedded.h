/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded broker: librdkafka's mock cluster in this process, reachable by other processes on
 * 127.0.0.1. For `reeve dev` and tests.
 *
 * Its log is in memory and keeps about 5 MiB or 100,000 batches a partition; it has no append
 * times, no admin API, no static membership; sessions must be longer than 3 s. The host process
 * makes the topics with embedded_topic. Clients set embedded=true (kafka_client_options.embedded).
 */
#ifndef KAFKA_EMBEDDED_H
#define KAFKA_EMBEDDED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct embedded;

/* New: one broker without topics. RETRY if no port is free. */
enum error_class embedded_new(struct embedded **ret_embedded, struct error *ret_error);
/* Makes a topic; keeps one that exists as it is. */
enum error_class embedded_topic(struct embedded *embedded, const char *name, int32_t partitions,
                                struct error *ret_error);
/* "127.0.0.1:PORT", borrowed until embedded_free. */
const char *embedded_bootstrap(const struct embedded *embedded);
/* For tests that inject errors: librdkafka's rd_kafka_mock_cluster_t. */
void *embedded_mock_cluster(struct embedded *embedded);
/* Its records are lost. NULL does nothing. */
void embedded_free(struct embedded *embedded);

#endif
