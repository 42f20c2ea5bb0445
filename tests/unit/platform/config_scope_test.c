/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of one of several agents in a process. */
#include "platform/config/config.h"

#include "tests/unit/platform/config_schema.h"

#include <criterion/criterion.h>
#include <string.h>

static struct config *config_of(const char *const settings[])
{
    struct config *config = config_new(&test_schema);
    struct error error;
    for (size_t i = 0; settings[i] != NULL; i += 2)
        cr_assert(config_set(config, settings[i], settings[i + 1], &error) == ERROR_OK, "%s",
                  error.message);
    cr_assert(config_finish(config, &error) == ERROR_OK, "%s", error.message);
    return config;
}

Test(configuration_scope, gives_each_agent_its_own_values)
{
    struct config *config = config_of((const char *const[]){
        "agent.names", "stock, pay.eu", "agent.http.url", "http://all", "agent.pay.eu.http.url",
        "http://pay", "agent.stock.in.flight.max", "7", "agent.stock.callback.secret", "s",
        "kafka.linger.ms", "3", NULL});
    struct config *stock = config_scoped(config, "stock");
    struct config *pay = config_scoped(config, "pay.eu");
    const char *const *names;
    struct error error;
    cr_assert_eq(config_list(config, "agent.names", &names), 2);
    cr_assert(config_check_scopes(config, names, 2, &error) == ERROR_OK);
    cr_assert(config_check_scopes(config, names, 1, &error) == ERROR_REJECT);
    cr_assert_not_null(strstr(error.message, "agent.pay.eu.http.url"));
    cr_assert_str_eq(config_string(stock, "agent.name"), "stock");
    cr_assert_str_eq(config_string(pay, "agent.name"), "pay.eu");
    cr_assert_str_eq(config_string(stock, "agent.http.url"), "http://all");
    cr_assert_str_eq(config_string(pay, "agent.http.url"), "http://pay");
    cr_assert_eq(config_int(stock, "agent.in.flight.max"), 7);
    cr_assert(config_is_set(stock, "agent.in.flight.max"));
    cr_assert_eq(config_int(pay, "agent.in.flight.max"), 1000);
    cr_assert_str_eq(config_string(stock, "agent.callback.secret"), "s");
    cr_assert_str_eq(config_string(config, "agent.http.url"), "http://all");
    cr_assert_str_eq(config_string(stock, "instance.id"), config_string(config, "instance.id"));
    cr_assert_eq(config_setting_count(stock), config_setting_count(config));
    config_free(stock);
    config_free(pay);
    config_free(config);
}

Test(configuration_scope, rejects_keys_that_have_no_scope)
{
    static const char *const bad[] = {"agent.stock.http.ur", "agent.stock.name", "agent..http.url",
                                      "agent.a b.http.url", "scheduler.x.batch.max"};
    struct config *config = config_new(&test_schema);
    struct error error;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert(config_set(config, bad[i], "1", &error) == ERROR_REJECT, "%s", bad[i]);
    cr_assert(config_set(config, "agent.stock.in.flight.max", "many", &error) == ERROR_REJECT);
    config_free(config);
}
