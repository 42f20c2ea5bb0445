/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/signature.h"

#include "cli/user.h"

json_t *signature_body(const struct cli *cli, const char *place, struct error *ret_error)
{
    const char *by = cli_flag_value(cli, "by");
    const char *reason = cli_flag_value(cli, "reason");
    bool has_token = config_string(cli->config, "console.token")[0] != '\0';
    if (reason == NULL || reason[0] == '\0') {
        error_set(ret_error, CODE_USAGE, "--reason TEXT is required: it stays in %s", place);
        return NULL;
    }
    if (by == NULL || by[0] == '\0')
        by = has_token ? NULL : cli_user();
    if (by == NULL && !has_token) {
        error_set(ret_error, CODE_USAGE,
                  "--by NAME is required: it stays in %s, and neither $USER nor the system names "
                  "the user",
                  place);
        return NULL;
    }
    json_t *body = by != NULL ? json_pack("{s:s, s:s}", "by", by, "reason", reason)
                              : json_pack("{s:s}", "reason", reason);
    if (body == NULL)
        error_set(ret_error, CODE_USAGE, "--by (or the user's name) and --reason must be UTF-8");
    return body;
}
