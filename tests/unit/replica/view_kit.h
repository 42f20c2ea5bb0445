/* SPDX-License-Identifier: Apache-2.0 */
/* Views over real stores, for unit tests that write the log themselves. All of it asserts that it
 * works. */
#ifndef TESTS_UNIT_REPLICA_VIEW_KIT_H
#define TESTS_UNIT_REPLICA_VIEW_KIT_H

#include "replica/fold/view.h"

/* New: its store is that of the cluster "kit". */
struct view *view_kit_open(const struct view_options *options);
/* `ret_folded` may be NULL. */
void view_kit_fold(struct view *view, int64_t offset, struct text value,
                   struct view_folded *ret_folded);
void view_kit_commit(struct view *view);
/* NULL: there is none. Borrowed until the next call. */
const struct order *view_kit_order(struct view *view, const char *id);

#endif
