/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of exported Avro files: the records of the log, or the rows of orders, with where
 * they were. They are made of the .avsc files, so that an export has every field and its docs. */
#ifndef CLI_EXPORT_SCHEMA_H
#define CLI_EXPORT_SCHEMA_H

#include "schemas/records.h"

#include <stdint.h>

/* How many kinds of records the log has. */
extern const uint32_t export_log_kind_count;

/* The branch of the kind in the union; export_log_kind_count: it is not a record of the log. What
 * cannot be decoded is the branch after the last. */
uint32_t export_branch(enum record_kind kind);

/* New, to be freed. {"partition", "offset", "time", "record": one of the branches} */
char *export_events_schema(void);
/* New, to be freed. {"partition", "offset": of the Decision that ended it, "order": OrderRow} */
char *export_orders_schema(void);

#endif
