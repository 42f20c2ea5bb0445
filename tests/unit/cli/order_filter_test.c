/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that select orders: which parameters they become, and what is not a filter. */
#include "cli/console/order_filter.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { GIVEN_MAX = 12 };

static const struct cli_flag flags[] = {
    ORDER_FILTER_FLAGS, ORDER_FILTER_STEP_FLAG, {NULL, NULL, NULL}};
static const struct cli_verb verb = {.flags = flags};
static const int64_t now = INT64_C(1291191960000); /* 2010-12-01T08:26:00Z */

struct flag_given {
    const char *name;
    const char *value;
};

static const struct cli_flag *flag_of(const char *name)
{
    for (const struct cli_flag *flag = flags; flag->name != NULL; flag++)
        if (strcmp(flag->name, name) == 0)
            return flag;
    cr_assert_fail("no flag is called %s", name);
    return NULL;
}

/* The flags end with one without a name. */
static enum error_class build(const struct flag_given *given, struct console_path *ret_path,
                              struct error *ret_error)
{
    struct cli_given items[GIVEN_MAX];
    struct cli cli = {.verb = &verb, .given = items};
    struct order_filter filter;
    for (; given->name != NULL; given++)
        items[cli.given_count++] = (struct cli_given){flag_of(given->name), given->value};
    *ret_path = (struct console_path){.size = 0};
    enum error_class class = order_filter_init(&cli, now, &filter, ret_error);
    if (class == ERROR_OK)
        order_filter_add(&filter, ret_path);
    cr_expect_eq(order_filter_is_given(&cli, NULL), cli.given_count > 0);
    return class;
}

static void expect(const struct flag_given *given, const char *expected)
{
    struct console_path path;
    struct error error;
    cr_assert(build(given, &path, &error) == ERROR_OK, "%s", error.message);
    cr_expect_str_eq(path.text, expected);
}

static void refuse(const char *name, const char *value)
{
    struct console_path path;
    struct error error;
    const struct flag_given given[] = {{name, value}, {NULL, NULL}};
    cr_expect_eq(build(given, &path, &error), ERROR_REJECT, "--%s '%s'", name, value);
    cr_expect_eq(error.code, CODE_USAGE);
    cr_expect(strstr(error.message, name) != NULL, "%s", error.message);
}

Test(cli_order_filter, becomes_parameters_of_the_api)
{
    expect((const struct flag_given[]){{NULL, NULL}}, "");
    expect((const struct flag_given[]){{"alert", ""}, {"paused", ""}, {NULL, NULL}},
           "?alert=open&paused=1");
    expect((const struct flag_given[]){{"workflow", "w"}, {"workflow-version", "7"}, {NULL, NULL}},
           "?workflow=w&workflow_version=7");
    expect((const struct flag_given[]){{"group", "managers"}, {"waiting-for", "<A>"}, {NULL, NULL}},
           "?waiting_for=%3CA%3E&group=managers");
    expect((const struct flag_given[]){{"prefix", "a/b"}, {"customer", "A & B=%"}, {NULL, NULL}},
           "?customer=A%20%26%20B%3D%25&id_prefix=a%2Fb");
    expect((const struct flag_given[]){{"attribute", "a=b=c"},
                                       {"attribute", "line=\n\u00e9"},
                                       {"state", "Error"},
                                       {NULL, NULL}},
           "?state=Error&attribute=a%3Db%3Dc&attribute=line%3D%0A%C3%A9");
}

Test(cli_order_filter, turns_times_into_those_of_the_api)
{
    expect((const struct flag_given[]){{"since", "1h"}, {"until", "30m"}, {NULL, NULL}},
           "?since=2010-12-01T07%3A26%3A00.000Z&until=2010-12-01T07%3A56%3A00.000Z");
    expect((const struct flag_given[]){{"since", "2010-12-01T08:26:00Z"}, {NULL, NULL}},
           "?since=2010-12-01T08%3A26%3A00.000Z");
    expect((const struct flag_given[]){{"until", "2010-12-01T09:26:00.5+01:00"}, {NULL, NULL}},
           "?until=2010-12-01T08%3A26%3A00.500Z");
    expect((const struct flag_given[]){{"since", "2010-12-01"}, {NULL, NULL}},
           "?since=2010-12-01T00%3A00%3A00.000Z");
}

/* An empty value would select every order, and one that is not UTF-8 none: an operator who gives a
 * filter means neither. */
Test(cli_order_filter, refuses_values_that_are_none)
{
    static const char *const times[] = {"",    "soon", "1291191960000", "5",
                                        "-1h", "1x",   "1960-01-01",    "100000d"};
    static const char *const texts[] = {"state",    "step",     "waiting-for", "group", "error",
                                        "workflow", "customer", "attribute",   "prefix"};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        refuse("since", times[i]);
        refuse("until", times[i]);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        refuse(texts[i], "");
        refuse(texts[i], "\xff");
    }
}

Test(cli_order_filter, takes_the_longest_attribute)
{
    struct console_path path;
    struct error error;
    char *longest = malloc(4096 + 3);
    cr_assert_not_null(longest);
    memset(longest, '\n', 4096 + 2);
    memcpy(longest, "n=", 2);
    longest[4096 + 2] = '\0';
    const struct flag_given given[] = {{"attribute", longest}, {NULL, NULL}};
    cr_assert(build(given, &path, &error) == ERROR_OK);
    cr_expect_not(path.is_too_long);
    free(longest);
}
