/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve`: the command line, all services and the tools in one binary. */
#include "cli/cli.h"
#include "platform/config/hide.h"
#include "replica/service/settings.h"
#include "tools/tools.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLI_NOUN(name) &cli_##name,
#define TOOLS_NOUN(name) &tools_##name,
static const struct cli_noun *const nouns[] = {CLI_NOUNS(CLI_NOUN) TOOLS_NOUNS(TOOLS_NOUN)
                                                   CLI_PROGRAM_NOUNS(CLI_NOUN) NULL};

/* A copy, for as long as the process runs: everyone on the machine can read the arguments. */
static char **take_arguments(int argc, char **argv)
{
    static char **copy;
    copy = calloc((size_t)argc + 1, sizeof(*copy));
    assert(copy != NULL);
    for (int i = 0; i < argc; i++) {
        copy[i] = strdup(argv[i]);
        assert(copy[i] != NULL);
    }
    config_hide_secrets(&settings_schema, argc, argv);
    return copy;
}

int main(int argc, char **argv)
{
    char **arguments = take_arguments(argc, argv);
    return cli_main(argc - 1, arguments + 1, environ, nouns, stdout, stderr);
}
