/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/signature.h"

#include <stdlib.h>

/* NULL: the command line does not say it. */
static const char *name_of(const struct cli *cli)
{
    const char *by = cli_flag_value(cli, "by");
    if (by == NULL)
        by = getenv("USER");
    return by != NULL && by[0] != '\0' ? by : NULL;
}

json_t *signature_body(const struct cli *cli, const char *place, struct error *ret_error)
{
    const char *by = name_of(cli);
    const char *reason = cli_flag_value(cli, "reason");
    bool has_token = config_string(cli->config, "console.token")[0] != '\0';
    if ((by == NULL && !has_token) || reason == NULL || reason[0] == '\0') {
        error_set(ret_error, ERROR_REJECT, "Usage",
                  "--reason TEXT and --by NAME (or $USER) are required: they stay in %s", place);
        return NULL;
    }
    json_t *body = by != NULL ? json_pack("{s:s, s:s}", "by", by, "reason", reason)
                              : json_pack("{s:s}", "reason", reason);
    if (body == NULL)
        error_set(ret_error, ERROR_REJECT, "Usage", "--by (or $USER) and --reason must be UTF-8");
    return body;
}
