/* SPDX-License-Identifier: Apache-2.0 */
/* The mock cluster, held by a client handle that does nothing else. See embedded.h. */
#include "kafka/embedded.h"

#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <stdlib.h>

struct embedded {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *cluster;
};

enum { REASON_SIZE = 256, SETTLE_MS = 2 };

enum error_class embedded_new(struct embedded **ret_embedded, struct error *ret_error)
{
    char reason[REASON_SIZE] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, NULL);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        return error_set(ret_error, CODE_EMBEDDED, "embedded broker: %s", reason);
    }
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, 1);
    if (cluster == NULL) {
        rd_kafka_destroy(rk);
        return error_set_as(ret_error, ERROR_RETRY, CODE_EMBEDDED, "embedded broker: no free port");
    }
    struct embedded *embedded = calloc(1, sizeof(*embedded));
    assert(embedded != NULL);
    *embedded = (struct embedded){.rk = rk, .cluster = cluster};
    *ret_embedded = embedded;
    return ERROR_OK;
}

enum error_class embedded_topic(struct embedded *embedded, const char *name, int32_t partitions,
                                struct error *ret_error)
{
    /* The cluster's thread misses a request that follows the previous one at once, and polls again
     * only after a second. After this pause it is back in its poll(). */
    poll(NULL, 0, SETTLE_MS);
    rd_kafka_resp_err_t code = rd_kafka_mock_topic_create(embedded->cluster, name, partitions, 1);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return ERROR_OK;
    return error_set(ret_error, CODE_EMBEDDED, "topic %s: %s", name, rd_kafka_err2str(code));
}

const char *embedded_bootstrap(const struct embedded *embedded)
{
    return rd_kafka_mock_cluster_bootstraps(embedded->cluster);
}

void *embedded_mock_cluster(struct embedded *embedded)
{
    return embedded->cluster;
}

void embedded_free(struct embedded *embedded)
{
    if (embedded == NULL)
        return;
    rd_kafka_mock_cluster_destroy(embedded->cluster);
    rd_kafka_destroy(embedded->rk);
    free(embedded);
}
