/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/user.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

const char *cli_user(void)
{
    const char *name = getenv("USER");
    if (name != NULL && name[0] != '\0')
        return name;
    const struct passwd *entry = getpwuid(getuid());
    return entry != NULL && entry->pw_name[0] != '\0' ? entry->pw_name : NULL;
}
