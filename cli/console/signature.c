/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/signature.h"

#include <stdlib.h>

json_t *signature_body(const struct cli *cli, const char *place, struct error *ret_error)
{
    const char *by = cli_flag_value(cli, "by");
    const char *reason = cli_flag_value(cli, "reason");
    if (by == NULL)
        by = getenv("USER");
    if (by == NULL || by[0] == '\0' || reason == NULL || reason[0] == '\0') {
        error_set(ret_error, ERROR_REJECT, "Usage",
                  "--reason TEXT and --by NAME (or $USER) are required: they stay in %s", place);
        return NULL;
    }
    json_t *body = json_pack("{s:s, s:s}", "by", by, "reason", reason);
    if (body == NULL)
        error_set(ret_error, ERROR_REJECT, "Usage", "--by (or $USER) and --reason must be UTF-8");
    return body;
}
