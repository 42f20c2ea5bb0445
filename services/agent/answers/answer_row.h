/* SPDX-License-Identifier: Apache-2.0 */
/* An answer as a row of the answer store:
 *     version u8 | accepted u8 | succeeded u8 | effect u8 | claim 16 | decision offset LE8 |
 *     order version LE8 | complete by LE8 | output, error name, error message: each size LE4, bytes
 * The host is little-endian, as everywhere in the stores. Pure; only answer_cache.c calls this. */
#ifndef SERVICES_AGENT_ANSWERS_ANSWER_ROW_H
#define SERVICES_AGENT_ANSWERS_ANSWER_ROW_H

#include "services/agent/answers/answer.h"

enum {
    ANSWER_ROW_BYTES_MAX =
        64 + 3 * 4 + REPORT_OUTPUT_BYTES_MAX + ERROR_NAME_BYTES_MAX + MESSAGE_BYTES_MAX
};

/* In `memory`. */
struct text answer_row_write(const struct step_request *request,
                             const struct attempt_answer *answer,
                             char memory[ANSWER_ROW_BYTES_MAX]);
/* False: not a row that answer_row_write made. *ret_known: it is of this very request's attempt,
 * and *ret_answer is set; its texts are new in the arena. */
bool answer_row_read(struct text row, const struct step_request *request, struct arena *arena,
                     struct attempt_answer *ret_answer, bool *ret_known);

#endif
