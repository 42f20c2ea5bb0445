/* SPDX-License-Identifier: Apache-2.0 */
/* Which index a search walks, and so what its list is sorted by. */
#ifndef SERVICES_CONSOLE_MODEL_SEARCH_PLAN_H
#define SERVICES_CONSOLE_MODEL_SEARCH_PLAN_H

#include "services/console/model/search.h"

struct search_plan {
    enum search_sort sort;
    enum store_index index;                       /* not by id: that walks the orders themselves */
    struct index_value values[SEARCH_KIND_COUNT]; /* one for each kind of orders */
    bool checks;                                  /* the walk alone does not decide */
};

/* Chooses the filter that the fewest orders match, for all partitions alike, among those whose
 * index has the sort of the search's cursor. Settles the partitions. */
void search_plan_make(struct console_partition *const partitions[], int32_t partition_count,
                      const struct search *search, struct search_plan *ret_plan);

/* Whether the index is walked for orders of this kind. Walks by id lead to both at once. */
bool search_walks(const struct search *search, const struct search_plan *plan,
                  enum search_kind kind);
/* Where a walk along INDEX_SUBMITTED, INDEX_CUSTOMER or INDEX_ATTRIBUTE begins and ends. */
int64_t search_newest(const struct search *search);
static inline bool search_is_too_old(const struct search *search, int64_t accepted_at)
{
    return search->has_since && accepted_at < search->since;
}

#endif
