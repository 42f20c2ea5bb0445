/* SPDX-License-Identifier: Apache-2.0 */
/* A .json file must be JSON, not only YAML; jansson decides. */
#include "workflow/tree.h"

#include <jansson.h>

bool workflow_check_json(struct text text, struct workflow_problems *problems)
{
    json_error_t error;
    json_t *json =
        json_loadb(text.data != NULL ? text.data : "", text.size, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        struct mark mark = {error.line > 0 ? (uint32_t)error.line : 1,
                            error.column > 0 ? (uint32_t)error.column : 1};
        problems_add_error(problems, mark, "not valid JSON: %s", error.text);
        return false;
    }
    json_decref(json);
    return true;
}
