/* SPDX-License-Identifier: Apache-2.0 */
/* The complete transition table of owners. */
#include "services/scheduler/owner/internal.h"

#include <criterion/criterion.h>
#include <signal.h>

/* One row per state: the letters of the states that may follow it. */
static const struct {
    char letter;
    const char *next;
} rows[OWNER_STATE_COUNT] = {
    [OWNER_CHECKING] = {'c', "cbx"},   [OWNER_CATCHING_UP] = {'b', "clx"},
    [OWNER_CLAIMING] = {'l', "fg"},    [OWNER_FOLDING] = {'f', "cigx"},
    [OWNER_INSPECTING] = {'i', "rgx"}, [OWNER_RUNNING] = {'r', "agx"},
    [OWNER_APPENDING] = {'a', "rg"},   [OWNER_GIVING_UP] = {'g', "c"},
    [OWNER_STOPPED] = {'x', "cx"},     [OWNER_STANDBY] = {'s', "cb"},
};

Test(owner_state, allows_exactly_the_transitions_of_the_table)
{
    for (int from = 0; from < OWNER_STATE_COUNT; from++) {
        for (int to = 0; to < OWNER_STATE_COUNT; to++) {
            bool expected = strchr(rows[from].next, rows[to].letter) != NULL;
            cr_assert_eq(owner_state_may_follow((enum owner_state)from, (enum owner_state)to),
                         expected, "%s to %s", owner_state_name((enum owner_state)from),
                         owner_state_name((enum owner_state)to));
        }
    }
}

Test(owner_state, reaches_every_state_but_standby_from_checking)
{
    bool reached[OWNER_STATE_COUNT] = {[OWNER_CHECKING] = true};
    for (int round = 0; round < OWNER_STATE_COUNT; round++)
        for (int from = 0; from < OWNER_STATE_COUNT; from++)
            for (int to = 0; to < OWNER_STATE_COUNT && reached[from]; to++)
                reached[to] = reached[to] ||
                              owner_state_may_follow((enum owner_state)from, (enum owner_state)to);
    for (int state = 0; state < OWNER_STATE_COUNT; state++)
        cr_assert_eq(reached[state], state != OWNER_STANDBY, "%s",
                     owner_state_name((enum owner_state)state));
}

Test(owner_state, aborts_on_a_forbidden_transition, .signal = SIGABRT)
{
    struct owner owner = {.state = OWNER_STANDBY};
    owner_set_state(&owner, OWNER_RUNNING);
}
