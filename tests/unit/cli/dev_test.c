/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dev` without processes: what is an agent, and when a service starts again. */
#include "cli/dev/dev_internal.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const char *pair, const char *name, enum dev_agent_kind kind, const char *url)
{
    struct error error = {0};
    struct dev_agent agent;
    cr_assert_eq(dev_agent_parse(pair, &agent, &error), ERROR_OK, "%s: %s", pair, error.message);
    cr_expect_str_eq(agent.name, name);
    cr_expect_eq(agent.kind, kind, "%s", pair);
    cr_expect_str_eq(agent.url, url);
}

static void refuse(const char *pair, const char *part)
{
    struct error error = {0};
    struct dev_agent agent = {.name = "untouched"};
    cr_expect_eq(dev_agent_parse(pair, &agent, &error), ERROR_REJECT, "%s", pair);
    cr_expect_eq(error.code, CODE_USAGE);
    cr_expect(strstr(error.message, part) != NULL, "%s: %s", pair, error.message);
    cr_expect_str_eq(agent.name, "untouched");
}

Test(cli_dev, takes_agents_as_users_write_them)
{
    expect("stock", "stock", DEV_AGENT_SIMULATED, "");
    expect("stock=sim", "stock", DEV_AGENT_SIMULATED, "");
    expect("stock=kafka", "stock", DEV_AGENT_KAFKA, "");
    expect("stock=http://127.0.0.1:1/a=b", "stock", DEV_AGENT_HTTP, "http://127.0.0.1:1/a=b");
    expect("stock=https://example.com", "stock", DEV_AGENT_HTTP, "https://example.com");
}

Test(cli_dev, refuses_what_is_not_an_agent)
{
    char longest[AGENT_URL_BYTES_MAX + 32] = "a=http://";
    refuse("", "expected 1 to 64 letters");
    refuse("=kafka", "expected 1 to 64 letters");
    refuse("..", "other than");
    refuse("a/b", "expected 1 to 64 letters");
    refuse("a=", "expected NAME, NAME=kafka, or NAME=URL");
    refuse("a=ftp://x", "expected NAME, NAME=kafka, or NAME=URL");
    memset(longest + strlen(longest), 'x', AGENT_URL_BYTES_MAX - strlen("http://"));
    expect(longest, "a", DEV_AGENT_HTTP, longest + strlen("a="));
    longest[strlen(longest)] = 'x'; /* the rest is zeros */
    refuse(longest, "at most 500 bytes");
}

Test(cli_dev, waits_longer_for_a_service_that_keeps_ending)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (int i = 0; i < 7; i++)
        cr_expect_eq(child_again_ms(i + 1), expected[i], "%d", i + 1);
    cr_expect_eq(child_again_ms(1000), 30000);
}
