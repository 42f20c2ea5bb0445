/* SPDX-License-Identifier: Apache-2.0 */
/* Which priority is served next: shares, no starvation, no accumulated credit. */
#include "replica/service/shares.h"

#include "replica/service/settings.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static const uint32_t usual[PRIORITY_COUNT] = {16, 4, 1};

static void serve(struct shares *shares, const bool waiting[PRIORITY_COUNT], int count,
                  int ret_served[PRIORITY_COUNT])
{
    memset(ret_served, 0, PRIORITY_COUNT * sizeof(int));
    for (int i = 0; i < count; i++) {
        int priority = shares_pick(shares, waiting);
        cr_assert(priority >= 0 && priority < PRIORITY_COUNT && waiting[priority]);
        ret_served[priority]++;
    }
}

Test(shares, picks_nothing_when_nothing_waits)
{
    struct shares shares;
    shares_init(&shares, usual);
    cr_assert_eq(shares_pick(&shares, (const bool[]){false, false, false}), -1);
}

Test(shares, gives_each_priority_its_share)
{
    static const bool all[] = {true, true, true};
    struct shares shares;
    int served[PRIORITY_COUNT];
    shares_init(&shares, usual);
    serve(&shares, all, 21 * 100, served);
    cr_assert_eq(served[PRIORITY_HIGH], 1600);
    cr_assert_eq(served[PRIORITY_NORMAL], 400);
    cr_assert_eq(served[PRIORITY_LOW], 100);
}

Test(shares, shares_the_unused_part_among_the_others)
{
    struct shares shares;
    int served[PRIORITY_COUNT];
    shares_init(&shares, usual);
    serve(&shares, (const bool[]){false, true, true}, 500, served);
    cr_assert_eq(served[PRIORITY_NORMAL], 400);
    cr_assert_eq(served[PRIORITY_LOW], 100);
    serve(&shares, (const bool[]){false, false, true}, 10, served);
    cr_assert_eq(served[PRIORITY_LOW], 10);
}

Test(shares, serves_the_high_priority_first_behind_any_backlog)
{
    struct shares shares;
    int served[PRIORITY_COUNT];
    shares_init(&shares, usual);
    serve(&shares, (const bool[]){false, false, true}, 10000, served);
    cr_assert_eq(shares_pick(&shares, (const bool[]){true, false, true}), PRIORITY_HIGH);
}

/* The low one was alone for long, and then away for long. */
Test(shares, gives_no_credit_to_an_empty_queue)
{
    static const bool all[] = {true, true, true};
    struct shares shares;
    int served[PRIORITY_COUNT];
    shares_init(&shares, usual);
    serve(&shares, (const bool[]){false, false, true}, 1000, served);
    serve(&shares, (const bool[]){true, false, false}, 100000, served);
    serve(&shares, all, 210, served);
    cr_assert(served[PRIORITY_LOW] >= 10 && served[PRIORITY_LOW] <= 11, "%d", served[PRIORITY_LOW]);
    cr_assert(served[PRIORITY_HIGH] >= 158 && served[PRIORITY_HIGH] <= 162, "%d",
              served[PRIORITY_HIGH]);
}

Test(shares, starves_no_priority)
{
    static const uint32_t extreme[PRIORITY_COUNT] = {SHARES_WEIGHT_MAX, 1, 1};
    static const bool all[] = {true, true, true};
    struct shares shares;
    int served[PRIORITY_COUNT];
    shares_init(&shares, extreme);
    serve(&shares, all, 10 * (SHARES_WEIGHT_MAX + 2), served);
    cr_assert_geq(served[PRIORITY_NORMAL], 9);
    cr_assert_geq(served[PRIORITY_LOW], 9);
}

Test(shares, takes_the_weights_from_the_configuration)
{
    static const bool both[] = {true, false, true};
    struct config *config = config_new(&settings_schema);
    struct shares shares;
    struct error error;
    int served[PRIORITY_COUNT];
    cr_assert(config_set(config, "priority.share.high", "3", &error) == ERROR_OK);
    cr_assert(config_finish(config, &error) == ERROR_OK);
    shares_init_configured(&shares, config);
    serve(&shares, both, 400, served);
    cr_assert(served[PRIORITY_HIGH] >= 299 && served[PRIORITY_HIGH] <= 301, "%d",
              served[PRIORITY_HIGH]);
    config_free(config);
}

Test(shares, aborts_on_a_weight_of_zero, .signal = SIGABRT)
{
    struct shares shares;
    shares_init(&shares, (const uint32_t[]){1, 0, 1});
}
