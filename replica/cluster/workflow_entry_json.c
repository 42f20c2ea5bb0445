/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/cluster/workflow_entry_json.h"

#include "schemas/json/json_codec.h"
#include "schemas/json/workflow_json.h"
#include "workflow/graph.h"
#include "workflow/lifecycle.h"

/* What the steps of `object` are, and the steps of their bodies; as deep as ORDER_DEPTH_MAX. */
static void put_bodies(json_t *object, const struct workflow *workflow,
                       const struct workflow_entry *entry)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        const struct workflow_step *of = &workflow->steps[i];
        json_t *step = json_array_get(json_object_get(object, "steps"), i);
        char items[WORKFLOW_ITEMS_SIZE];
        json_codec_put(step, "kind", json_codec_text(workflow_step_kind_word(of)));
        json_codec_put(step, "for_each", json_codec_text_or_null(workflow_step_items(of, items)));
        if (of->suborders.body == NULL) {
            json_codec_put(step, "steps", json_null());
            continue;
        }
        json_t *body = workflow_json(of->suborders.body, &entry->definition, &entry->latest, false,
                                     entry->retired);
        put_bodies(body, of->suborders.body, entry);
        json_codec_put(step, "steps", json_incref(json_object_get(body, "steps")));
        json_decref(body);
    }
}

json_t *workflow_entry_json(const struct workflow_registry *registry,
                            const struct workflow_entry *entry)
{
    json_t *object = workflow_json(entry->workflow, &entry->definition, &entry->latest,
                                   workflow_lifecycle_is_active(registry, entry), entry->retired);
    put_bodies(object, entry->workflow, entry);
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
