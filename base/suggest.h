/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the known name that a misspelt one is nearest to. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/text.h"

/* As TEXT(), where only a constant may stand. */
#define WORD(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

/* The nearest of the candidates, or NULL when none is near: at most a third of its letters differ,
 * case apart. `candidates` has `count` elements, some may be empty. */
const struct text *suggest(struct text wrong, const struct text *candidates, uint32_t count);
/* The same, at most `most` letters different. */
const struct text *suggest_within(struct text wrong, const struct text *candidates, uint32_t count,
                                  uint32_t most);

#endif
