/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of the prefix t and of its agent `pay` on an embedded broker. */
#ifndef TESTS_EMBEDDED_AGENT_TOPICS_H
#define TESTS_EMBEDDED_AGENT_TOPICS_H

#include "kafka/embedded/embedded.h"

/* Fails the test if they cannot be made. */
void make_agent_topics(const struct embedded *embedded, int32_t partitions);

#endif
