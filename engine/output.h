/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a step: canonical JSON (base/json.h), or empty where there is none.
 *
 * Agents bring what a service answered into this form, and commands are checked for it where they
 * are decided, since agents are written in any language. */
#ifndef ENGINE_OUTPUT_H
#define ENGINE_OUTPUT_H

#include "base/arena.h"

/* The JSON text `json` as an output. Where its canonical text is longer than `bytes_max`, that is
 * {"bytes":N,"truncated":true}; null and what is not JSON become empty. Borrowed where it is
 * canonical, else new in `arena`. */
struct text output_canonical(struct text json, uint32_t bytes_max, struct arena *arena);
/* What stands for an output of `bytes`, of which only a part was kept. New in `arena`. */
struct text output_truncated(uint64_t bytes, struct arena *arena);

#endif
