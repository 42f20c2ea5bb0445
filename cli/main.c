/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve`: the command line, all services and the tools in one binary. */
#include "cli/cli.h"
#include "tools/tools.h"

#include <unistd.h>

#define CLI_NOUN(name) &cli_##name,
#define TOOLS_NOUN(name) &tools_##name,
static const struct cli_noun *const nouns[] = {CLI_NOUNS(CLI_NOUN) TOOLS_NOUNS(TOOLS_NOUN)
                                                   CLI_PROGRAM_NOUNS(CLI_NOUN) NULL};

int main(int argc, char **argv)
{
    return cli_main(argc - 1, argv + 1, environ, nouns);
}
