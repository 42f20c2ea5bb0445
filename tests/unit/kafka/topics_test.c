/* SPDX-License-Identifier: Apache-2.0 */
/* Names of topics. */
#include "kafka/topics/topics.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

Test(topics, starts_every_name_with_the_prefix)
{
    struct topics topics;
    char name[TOPIC_NAME_SIZE];
    cr_assert_eq(topics_init(&topics, "shop.eu", NULL), ERROR_OK);
    cr_assert_str_eq(topics.events, "shop.eu.events");
    cr_assert_str_eq(topics.dead_letters, "shop.eu.dead-letters");
    topics_requests(&topics, TEXT("payment"), name);
    cr_assert_str_eq(name, "shop.eu.requests.payment");
    topics_replies(&topics, TEXT("web-1"), name);
    cr_assert_str_eq(name, "shop.eu.replies.web-1");
}

Test(topics, fits_the_longest_names_into_kafkas_limit)
{
    struct topics topics;
    char prefix[TOPICS_PREFIX_BYTES_MAX + 2];
    char agent[NAME_BYTES_MAX];
    char name[TOPIC_NAME_SIZE];
    memset(prefix, 'p', sizeof(prefix));
    memset(agent, 'a', sizeof(agent));
    prefix[TOPICS_PREFIX_BYTES_MAX + 1] = '\0';
    struct error error;
    cr_assert_eq(topics_init(&topics, prefix, &error), ERROR_REJECT);
    cr_assert_str_eq(error.code, "Config");
    prefix[TOPICS_PREFIX_BYTES_MAX] = '\0';
    cr_assert_eq(topics_init(&topics, prefix, &error), ERROR_OK);
    topics_requests(&topics, (struct text){agent, sizeof(agent)}, name);
    cr_assert_leq(strlen(name), (size_t)TOPIC_BYTES_MAX);
}

Test(topics, requires_a_prefix_to_be_a_topic_name)
{
    struct topics topics;
    cr_assert_eq(topics_init(&topics, "", NULL), ERROR_REJECT);
    cr_assert_eq(topics_init(&topics, "a b", NULL), ERROR_REJECT);
    cr_assert_eq(topics_init(&topics, "a/b", NULL), ERROR_REJECT);
}

Test(topics, accepts_only_reply_topics_for_replies)
{
    struct topics topics;
    cr_assert_eq(topics_init(&topics, "orders", NULL), ERROR_OK);
    cr_assert(topics_is_reply(&topics, TEXT("orders.replies.web")));
    cr_assert(topics_is_reply(&topics, TEXT("orders.replies.web.eu-1")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies.")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.events")));
    cr_assert_not(topics_is_reply(&topics, TEXT("other.replies.web")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies.we b")));
    cr_assert_not(topics_is_reply(&topics, (struct text){NULL, 0}));
}

Test(topics, aborts_on_an_invalid_agent, .signal = SIGABRT)
{
    struct topics topics;
    char name[TOPIC_NAME_SIZE];
    cr_assert_eq(topics_init(&topics, "orders", NULL), ERROR_OK);
    topics_requests(&topics, TEXT("no/slash"), name);
}
