/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/user.h"

#include "base/utf8.h"

#include <pwd.h>
#include <stdio.h>
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

void cli_user_at_host(char ret_name[WHO_BYTES_MAX])
{
    const char *user = cli_user();
    char host[64] = "";
    gethostname(host, sizeof(host) - 1);
    if (user == NULL || !utf8_printable(text_of(user)))
        user = "unknown";
    snprintf(ret_name, WHO_BYTES_MAX, "%.*s@%s", TEXT_ARG(utf8_cut(text_of(user), 60)), host);
}
