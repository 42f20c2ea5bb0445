/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/workflows/{name}/{version}/graph: a deployed workflow as data or as a picture. */
#include "workflow/graph.h"

#include "base/numbers.h"
#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"

#include <assert.h>
#include <stdlib.h>

static const char *const media_types[GRAPH_FORMAT_COUNT] = {
    [GRAPH_TEXT] = "text/plain; charset=utf-8",
    [GRAPH_DOT] = "text/vnd.graphviz; charset=utf-8",
};

static json_t *source_or_null(const struct expression *expression)
{
    return expression != NULL ? json_codec_text(expression->source) : json_null();
}

static json_t *render_steps(const struct workflow *workflow);

static json_t *render_step(const struct workflow *workflow, uint32_t index, uint32_t level)
{
    char items[WORKFLOW_ITEMS_SIZE];
    const struct workflow_step *step = &workflow->steps[index];
    json_t *object = json_object();
    json_t *agents = json_array();
    json_t *after = json_array();
    struct text none = {0};
    for (uint32_t i = 0; i < step->agent_count; i++)
        json_array_append_new(agents, json_codec_text(step->agents[i]));
    for (uint32_t j = 0; j < workflow->step_count; j++) {
        if ((step->after >> j & 1) != 0)
            json_array_append_new(after, json_codec_text(workflow->steps[j].name));
    }
    json_codec_put(object, "name", json_codec_text(step->name));
    json_codec_put(object, "kind", json_codec_text(workflow_step_kind_word(step)));
    json_codec_put(object, "level", json_integer(level));
    json_codec_put(object, "agents", agents);
    json_codec_put(object, "after", after);
    json_codec_put(object, "when", source_or_null(step->when));
    json_codec_put(object, "error", json_codec_text_or_null(step->fail.error));
    json_codec_put(object, "wait_seconds", source_or_null(step->wait.seconds));
    json_codec_put(object, "wait_until", source_or_null(step->wait.timestamp));
    json_codec_put(object, "until", source_or_null(step->until));
    json_codec_put(object, "for_each", json_codec_text_or_null(workflow_step_items(step, items)));
    json_codec_put(object, "steps",
                   step->suborders.body != NULL ? render_steps(step->suborders.body) : json_null());
    json_codec_put(object, "pivot", json_boolean(step->pivot));
    json_codec_put(object, "undo",
                   json_codec_text_or_null(step->has_compensate ? step->compensate.action : none));
    return object;
}

/* As deep as ORDER_DEPTH_MAX. */
static json_t *render_steps(const struct workflow *workflow)
{
    uint32_t levels[WORKFLOW_STEPS_MAX];
    json_t *steps = json_array();
    workflow_levels(workflow, levels);
    for (uint32_t i = 0; i < workflow->step_count; i++)
        json_array_append_new(steps, render_step(workflow, i, levels[i]));
    return steps;
}

static json_t *render_graph(const struct workflow *workflow)
{
    json_t *body = json_object();
    json_codec_put(body, "name", json_codec_text(workflow->name));
    json_codec_put(body, "version", json_integer(workflow->version));
    json_codec_put(body, "steps", render_steps(workflow));
    return body;
}

static void respond_picture(struct http_exchange *exchange, const struct workflow *workflow,
                            enum workflow_graph_format format)
{
    size_t size = workflow_graph(workflow, format, NULL, 0);
    char *picture = malloc(size);
    assert(picture != NULL && size <= UINT32_MAX);
    workflow_graph(workflow, format, picture, size);
    http_respond(exchange, 200, media_types[format], (struct text){picture, (uint32_t)size});
    free(picture);
}

void serve_workflow_graph(struct api *api, struct http_exchange *exchange)
{
    struct text name = text_of(http_param(exchange, "name"));
    struct text format_name = text_of(http_query(exchange, "format"));
    uint32_t format = GRAPH_TEXT;
    int64_t version = 0;
    bool as_json = text_empty(format_name) || text_equal(format_name, TEXT("json"));
    if (!as_json && !enum_names_find(&workflow_graph_format_names, format_name, &format)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "format: expected \"text\", \"dot\" or \"json\"");
        return;
    }
    if (!number_parse(text_of(http_param(exchange, "version")), 1, INT32_MAX, &version)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "the version in the path: expected an integer from 1 to %d", INT32_MAX);
        return;
    }
    const struct workflow *workflow =
        workflow_registry_find(api->cluster->workflows, name, (uint32_t)version);
    if (workflow == NULL)
        http_respond_error(exchange, 404, CODE_UNKNOWN_WORKFLOW,
                           "version %lld of this workflow is not deployed", (long long)version);
    else if (as_json)
        http_respond_json(exchange, 200, render_graph(workflow));
    else
        respond_picture(exchange, workflow, (enum workflow_graph_format)format);
}
