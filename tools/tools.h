/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that are reachable from the binary but are not the product. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "cli/cli.h"

#define TOOLS_NOUNS(X) X(bench)

#define TOOLS_DECLARE_NOUN(name) extern const struct cli_noun tools_##name;
TOOLS_NOUNS(TOOLS_DECLARE_NOUN)
#undef TOOLS_DECLARE_NOUN

#endif
