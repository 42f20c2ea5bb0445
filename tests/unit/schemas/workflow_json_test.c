/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/workflow_json.h"

#include "tests/unit/schemas/json_kit.h"

#include <criterion/criterion.h>

Test(schemas_workflow_json, tells_a_retirement_from_an_activation)
{
    const struct workflow workflow = {.name = TEXT("w"), .version = 2};
    const struct workflow_definition definition = {.version = 2};
    const struct workflow_activation latest = {
        .version = 2, .by = TEXT("ann"), .at = 5, .reason = TEXT("charges twice")};
    for (int retired = 0; retired < 2; retired++) {
        json_t *made = workflow_json(&workflow, &definition, &latest, retired == 0, retired == 1);
        const char *absent = retired == 1 ? "activated_by" : "retired_by";
        json_kit_text(made, retired == 1 ? "retired_by" : "activated_by", "ann");
        json_kit_text(made, retired == 1 ? "retired_at" : "activated_at",
                      "1970-01-01T00:00:00.005Z");
        cr_assert(json_is_null(json_object_get(made, absent)));
        json_decref(made);
    }
}
