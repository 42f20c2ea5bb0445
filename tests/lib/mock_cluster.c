/* SPDX-License-Identifier: Apache-2.0 */
/* The mock cluster, held by a client handle that does nothing else. See mock_cluster.h. */
#include "tests/lib/mock_cluster.h"

#include <assert.h>
#include <poll.h>
#include <stddef.h>

enum { REASON_SIZE = 256, SETTLE_MS = 2 };

void mock_cluster_open(struct mock_cluster *mock)
{
    char reason[REASON_SIZE] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, NULL);
    mock->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    assert(mock->rk != NULL);
    mock->cluster = rd_kafka_mock_cluster_new(mock->rk, 1);
    assert(mock->cluster != NULL);
}

void mock_cluster_topic(struct mock_cluster *mock, const char *name, int32_t partitions)
{
    /* The cluster's thread misses a request that follows the previous one at once, and polls again
     * only after a second. After this pause it is back in its poll(). */
    poll(NULL, 0, SETTLE_MS);
    rd_kafka_resp_err_t code = rd_kafka_mock_topic_create(mock->cluster, name, partitions, 1);
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
}

void mock_cluster_close(struct mock_cluster *mock)
{
    if (mock->rk == NULL)
        return;
    rd_kafka_mock_cluster_destroy(mock->cluster);
    rd_kafka_destroy(mock->rk);
}
