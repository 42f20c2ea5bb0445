/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve`: the command line and all services in one binary. */
#include "cli/cli.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    return cli_main(argc - 1, argv + 1, environ);
}
