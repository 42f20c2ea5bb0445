/* SPDX-License-Identifier: Apache-2.0 */
/* See replies.h. */
#include "services/submission/replies.h"

#include <xxhash.h>

uint64_t replies_hash(struct text topic)
{
    return XXH3_64bits(topic.data, topic.size) | 1;
}

void replies_silence(struct replies *replies, uint64_t topic_hash, int64_t now_ms)
{
    uint32_t at = 0;
    while (at < REPLIES_SILENT_MAX && replies->silent[at].topic_hash != topic_hash)
        at++;
    if (at == REPLIES_SILENT_MAX)
        at = replies->next_silent++ % REPLIES_SILENT_MAX;
    replies->silent[at].topic_hash = topic_hash;
    replies->silent[at].until_ms = now_ms + REPLIES_SILENT_MS;
}

bool replies_is_silent(const struct replies *replies, uint64_t topic_hash, int64_t now_ms)
{
    bool silent = false;
    for (uint32_t i = 0; i < REPLIES_SILENT_MAX && !silent; i++)
        silent =
            replies->silent[i].topic_hash == topic_hash && now_ms < replies->silent[i].until_ms;
    return silent;
}
