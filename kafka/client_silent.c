/* SPDX-License-Identifier: Apache-2.0 */
/* The partitions whose last query got no answer, as those without a leader: a query of theirs
 * probably blocks its thread, so it runs as a doubtful job (client_job.c). On the loop's thread. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 300 }; /* a topic's name has at most 249 bytes */

struct kafka_silent {
    UT_hash_handle hh;
    char key[];
};

static struct kafka_silent *find(const struct kafka_client *kafka, const char *topic,
                                 int32_t partition, char ret_key[KEY_SIZE])
{
    struct kafka_silent *found = NULL;
    snprintf(ret_key, KEY_SIZE, "%s/%d", topic, (int)partition);
    HASH_FIND_STR(kafka->silent, ret_key, found);
    return found;
}

bool kafka_is_silent(const struct kafka_client *kafka, const char *topic, int32_t partition)
{
    char key[KEY_SIZE];
    return find(kafka, topic, partition, key) != NULL;
}

void kafka_note_answer(struct kafka_client *kafka, const char *topic, int32_t partition,
                       rd_kafka_resp_err_t code)
{
    char key[KEY_SIZE];
    struct kafka_silent *found = find(kafka, topic, partition, key);
    bool silent = code != RD_KAFKA_RESP_ERR_NO_ERROR && kafka_error_class(code) == ERROR_RETRY;
    if (silent == (found != NULL))
        return;
    if (!silent) {
        HASH_DEL(kafka->silent, found);
        free(found);
        return;
    }
    size_t size = strlen(key) + 1;
    found = calloc(1, sizeof(*found) + size);
    assert(found != NULL);
    memcpy(found->key, key, size);
    HASH_ADD_STR(kafka->silent, key, found);
}

void kafka_silent_deinit(struct kafka_client *kafka)
{
    struct kafka_silent *silent;
    struct kafka_silent *next;
    HASH_ITER(hh, kafka->silent, silent, next) {
        HASH_DEL(kafka->silent, silent);
        free(silent);
    }
}
