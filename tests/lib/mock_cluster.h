/* SPDX-License-Identifier: Apache-2.0 */
/* librdkafka's mock cluster in this process, for errors that only it produces on demand. It has no
 * admin API: topics are created here. */
#ifndef TESTS_LIB_MOCK_CLUSTER_H
#define TESTS_LIB_MOCK_CLUSTER_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

struct mock_cluster {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *cluster;
};

/* One broker without topics. */
void mock_cluster_open(struct mock_cluster *mock);
void mock_cluster_topic(struct mock_cluster *mock, const char *name, int32_t partitions);
/* Zeroed: does nothing. */
void mock_cluster_close(struct mock_cluster *mock);

#endif
