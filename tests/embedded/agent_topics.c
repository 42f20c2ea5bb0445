/* SPDX-License-Identifier: Apache-2.0 */
/* See agent_topics.h. */
#include "tests/embedded/agent_topics.h"

#include "kafka/topics/topics.h"

#include <criterion/criterion.h>

void make_agent_topics(const struct embedded *embedded, int32_t partitions)
{
    static const char *const agents[] = {"pay"};
    struct error error = {0};
    struct topics topics;
    struct kafka_client_options kafka = {.bootstrap_servers = embedded_bootstrap(embedded)};
    struct topics_plan plan = {.kafka = &kafka,
                               .topics = &topics,
                               .partitions = partitions,
                               .agents = agents,
                               .agent_count = 1};
    cr_assert(topics_init(&topics, "t", &error) == ERROR_OK);
    cr_assert(topics_apply(&plan, NULL, NULL, &error) == ERROR_OK, "%s", error.message);
}
