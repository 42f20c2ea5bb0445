/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/replica/view_kit.h"

#include <criterion/criterion.h>

struct view *view_kit_open(const struct view_options *options)
{
    struct view *view = NULL;
    struct error error = {0};
    bool dropped = false;
    cr_assert(view_open(options, &view, &dropped, &error) == ERROR_OK, "%s", error.message);
    view_set_cluster_id(view, "kit");
    return view;
}

void view_kit_fold(struct view *view, int64_t offset, struct text value,
                   struct view_folded *ret_folded)
{
    struct error error = {0};
    struct broker_record record = {.topic = "p.events", .offset = offset, .value = value};
    cr_assert(view_fold(view, &record, ret_folded, &error) == ERROR_OK, "%s", error.message);
}

void view_kit_commit(struct view *view)
{
    struct error error = {0};
    cr_assert(view_commit(view, &error) == ERROR_OK, "%s", error.message);
}

const struct order *view_kit_order(struct view *view, const char *id)
{
    const struct order *order = NULL;
    struct error error = {0};
    cr_assert(view_order(view, text_of(id), &order, &error) == ERROR_OK, "%s", error.message);
    return order;
}
