/* SPDX-License-Identifier: Apache-2.0 */
/* A signal as HTTP brings it, for the step that the path names, or a record of JSON, which names
 * order and step itself:
 *
 *     {"id": ..., "payload": any JSON value}    or    {"id": ..., "choice": ..., "comment": ...}
 *
 * The latter answers a step with Options; the two make its payload. */
#ifndef SCHEMAS_JSON_SIGNAL_JSON_H
#define SCHEMAS_JSON_SIGNAL_JSON_H

#include "base/json.h"
#include "engine/command.h"

/* Of `body`, canonical, only the members that `fields` names, which ends with NULL: some of
 * order_id, step, id, payload, choice, comment, by, reply_to. Texts are borrowed or new in `arena`;
 * what the body does not have is empty, except for the payload, which it has to have. REJECT: it is
 * malformed. */
enum error_class signal_json_read(struct json_value body, const char *const fields[],
                                  struct arena *arena, struct signal_order *ret_signal,
                                  struct error *ret_error);

#endif
