/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster/workflow_entry_json.h"

#include "schemas/json/json_codec.h"
#include "schemas/json/workflow_json.h"
#include "workflow/graph.h"
#include "workflow/lifecycle.h"

json_t *workflow_entry_json(const struct workflow_registry *registry,
                            const struct workflow_entry *entry)
{
    const struct workflow *workflow = entry->workflow;
    json_t *object = workflow_json(workflow, &entry->definition, &entry->latest,
                                   workflow_lifecycle_is_active(registry, entry), entry->retired);
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        json_t *step = json_array_get(json_object_get(object, "steps"), i);
        json_codec_put(step, "kind", json_codec_text(workflow_step_kind_word(&workflow->steps[i])));
    }
    return object;
}

json_t *workflow_problem_json(const struct workflow_problem *problem)
{
    json_t *object = json_object();
    json_codec_put(object, "line", json_integer(problem->line));
    json_codec_put(object, "column", json_integer(problem->column));
    json_codec_put(object, "severity", json_string(workflow_severity_name(problem->severity)));
    json_codec_put(object, "message", json_codec_text(text_of(problem->text)));
    return object;
}

json_t *workflow_problems_json(const struct workflow_problem *problems, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, workflow_problem_json(&problems[i]));
    return list;
}

json_t *workflow_difference_json(const struct workflow_difference *difference)
{
    json_t *object = json_object();
    json_codec_put(object, "step", json_codec_text_or_null(difference->step));
    json_codec_put(object, "field", json_string(difference->field));
    json_codec_put(object, "left", json_codec_text_or_null(difference->left));
    json_codec_put(object, "right", json_codec_text_or_null(difference->right));
    json_codec_put(object, "warning",
                   difference->warning != NULL ? json_string(difference->warning) : json_null());
    return object;
}
