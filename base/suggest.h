/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the known name that is nearest to a misspelt one. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/text.h"

#include <stddef.h>

/* The nearest candidate, or NULL if none is near. Near is: at most a third of its letters differ
 * (insertions, deletions, replacements, swaps of neighbours; case does not count); or it begins or
 * ends with `wrong`, which has at least four letters. Candidates may be empty. */
const struct text *suggest_text(struct text wrong, const struct text *candidates, size_t count);
const char *suggest_string(const char *wrong, const char *const candidates[], size_t count);
/* The nearest candidate in which at most a third of the letters, and at most `most`, differ. */
const struct text *suggest_within(struct text wrong, const struct text *candidates, size_t count,
                                  uint32_t most);

#endif
