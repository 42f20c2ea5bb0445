/* SPDX-License-Identifier: Apache-2.0 */
/* All addresses of a name. */
#include "platform/name_lookup.h"
#include "tests/unit/platform/names_kit.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WAIT_MS = 30000 };

static struct loop *loop;
static struct name_addresses found;
static int calls;

static void open_loop(void)
{
    struct error error;
    calls = 0;
    cr_assert_eq(loop_new(clock_real(), &loop, &error), ERROR_OK);
}

static void close_loop(void)
{
    loop_free(loop);
}

TestSuite(name_lookup, .init = open_loop, .fini = close_loop, .timeout = 120);

static void on_done(const struct name_addresses *addresses, void *userdata)
{
    cr_assert_eq(userdata, &found);
    found = *addresses;
    calls++;
}

static struct name_lookup *look_up(const char *name)
{
    struct error error;
    struct name_lookup *lookup = NULL;
    cr_assert_eq(name_lookup_new(loop, name, on_done, &found, &lookup, &error), ERROR_OK);
    return lookup;
}

static bool was_called(void *ctx)
{
    (void)ctx;
    return calls > 0;
}

Test(name_lookup, finds_each_address_once_in_order)
{
    NAMES_KIT_SET("replicas", "127.0.0.9", "::1", "127.0.0.10", "127.0.0.9", );
    look_up("replicas");
    cr_assert_eq(calls, 0);
    cr_assert(loop_run_until(loop, was_called, NULL, WAIT_MS));
    cr_assert_eq(found.count, 3);
    cr_assert_str_eq(found.texts[0], "127.0.0.10");
    cr_assert_str_eq(found.texts[1], "127.0.0.9");
    cr_assert_str_eq(found.texts[2], "::1");
    cr_assert_str_empty(found.problem);
}

Test(name_lookup, says_why_there_is_no_address)
{
    NAMES_KIT_SET("replicas", );
    look_up("replicas");
    cr_assert(loop_run_until(loop, was_called, NULL, WAIT_MS));
    cr_assert_eq(found.count, 0);
    cr_assert_gt(strlen(found.problem), 0);
}

Test(name_lookup, calls_nothing_after_it_was_cancelled)
{
    NAMES_KIT_SET("replicas", "127.0.0.9", );
    names_kit_hold();
    name_lookup_cancel(look_up("replicas"));
    names_kit_release();
    look_up("127.0.0.1");
    cr_assert(loop_run_until(loop, was_called, NULL, WAIT_MS));
    cr_assert_eq(calls, 1);
    cr_assert_str_eq(found.texts[0], "127.0.0.1");
    name_lookup_cancel(NULL);
}
