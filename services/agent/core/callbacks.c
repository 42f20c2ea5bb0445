/* SPDX-License-Identifier: Apache-2.0 */
/* The route, its authorization, and the callbacks that are being appended. See callbacks.h. */
#include "services/agent/core/callbacks.h"

#include "base/names.h"
#include "base/numbers.h"
#include "base/percent.h"
#include "platform/failpoint.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/logger.h"
#include "schemas/details.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ACKNOWLEDGE_MS = 10000, /* then the caller must retry; harmless if both arrive */
    SCRATCH_BYTES = 16 * 1024
};

struct callback {
    struct http_pending pending; /* to come: its acknowledgement */
    struct agent_callbacks *callbacks;
};

struct agent_callbacks {
    struct agent *agent;
    struct http_pendings pendings;
    char *pattern;
    char *base; /* of URLs, without a slash at its end; NULL = no callbacks are accepted */
    struct text secret;
    struct heap_arena scratch;
    struct metrics_counter *accepted;
    struct metrics_counter *refused;
};

/* The request id in a path. */
struct callback_id {
    struct text order;
    struct text step;
    enum direction direction;
    uint32_t attempt;
};

static void on_post(struct http_exchange *exchange, void *userdata);
static void on_late(struct http_pending *pending);

static const struct http_pending_kind callback_kind = {
    .max = AGENT_CALLBACKS_PENDING_MAX,
    .busy = "too many callbacks are waiting for the brokers",
    .draining = HTTP_SHUTTING_DOWN,
    .late = on_late};

#define PATTERN(agent) "/v1/callbacks/" agent "/{order}/{step}/{direction}/{attempt}"

/* Each agent of the process has the route with its name. */
static const struct http_route rows[] = {
    {.method = "POST",
     .pattern = PATTERN("{agent}"),
     .permission = HTTP_CALL_BACK,
     .handler = on_post,
     .query = HTTP_NAMES("token"),
     .body_max = AGENT_CALLBACK_BODY_MAX,
     .or_else = "with the URL's own token",
     .summary = "report the outcome of an attempt, or that it takes longer"},
};
const struct http_routes agent_callback_routes = HTTP_ROUTES(rows);

/* ---- new and free ---- */

static bool is_loopback(const char *host)
{
    return host[0] == '\0' || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* The host name of a URL; empty: it has none. */
static struct text host_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    bool bracket = host[0] == '[';
    return (struct text){host + bracket, (uint32_t)strcspn(host + bracket, bracket ? "]" : ":/")};
}

/* Where the remote service reaches this instance, or a load balancer in front of all instances. */
static char *base_url(const struct agent_callbacks *callbacks)
{
    const struct service_context *service = callbacks->agent->service;
    const char *url = config_string(service->config, "agent.callback.url");
    const char *host = config_string(service->config, "http.host");
    if (callbacks->secret.size == 0 && !is_loopback(host)) {
        if (url[0] != '\0')
            log_warning("agent.callback.url is set without agent.callback.secret: callbacks are "
                        "accepted on loopback addresses only");
        return NULL;
    }
    if (url[0] == '\0' && is_any(host))
        return NULL;
    char *base = strdup(url[0] != '\0' ? url : http_server_url(service->http));
    assert(base != NULL);
    size_t size = strlen(base);
    while (size > 0 && base[size - 1] == '/')
        base[--size] = '\0';
    http_server_allow_host(service->http, host_of(base));
    return base;
}

struct agent_callbacks *agent_callbacks_new(struct agent *agent)
{
    struct service_context *service = agent->service;
    struct metrics_labels labels = METRICS_LABEL("agent", agent->name);
    struct agent_callbacks *callbacks = calloc(1, sizeof(*callbacks));
    assert(callbacks != NULL);
    callbacks->agent = agent;
    http_pendings_init(&callbacks->pendings, &callback_kind, service->loop, NULL, NULL);
    callbacks->secret = text_of(config_string(service->config, "agent.callback.secret"));
    heap_arena_init(&callbacks->scratch, SCRATCH_BYTES);
    callbacks->accepted =
        metrics_counter(service->metrics, "reeve_agent_callbacks_total",
                        "Callbacks of the remote service that were appended.", labels);
    callbacks->refused = metrics_counter(service->metrics, "reeve_agent_callbacks_refused_total",
                                         "Callbacks with a bad id, token or body.", labels);
    if (service->http == NULL)
        return callbacks;
    struct http_route route = rows[0];
    int size = asprintf(&callbacks->pattern, PATTERN("%s"), agent->name);
    assert(size > 0);
    route.pattern = callbacks->pattern;
    callbacks->base = base_url(callbacks);
    http_server_route(service->http, &route, callbacks);
    return callbacks;
}

void agent_callbacks_free(struct agent_callbacks *callbacks)
{
    if (callbacks == NULL)
        return;
    http_pendings_deinit(&callbacks->pendings);
    heap_arena_deinit(&callbacks->scratch);
    free(callbacks->pattern);
    free(callbacks->base);
    free(callbacks);
}

bool agent_callbacks_idle(const struct agent_callbacks *callbacks)
{
    return callbacks->pendings.count == 0;
}

/* ---- URLs ---- */

struct text agent_callback_url(const struct agent *agent, const struct step_request *request,
                               struct arena *arena)
{
    const struct agent_callbacks *callbacks = agent->callbacks;
    char token[AGENT_CALLBACK_TOKEN_SIZE] = "";
    struct text name = text_of(agent->name);
    char order[3 * ORDER_ID_BYTES_MAX + 1];
    if (callbacks->base == NULL)
        return TEXT("");
    if (callbacks->secret.size > 0)
        agent_callback_token(callbacks->secret, name, request->order_id, request->ref.step,
                             request->ref.direction, request->ref.attempt, token);
    percent_encode(request->order_id, PERCENT_KEEP_UNRESERVED, order, sizeof(order));
    size_t most = strlen(callbacks->base) + strlen(order) + 2 * (size_t)NAME_BYTES_MAX + 200;
    char *url = arena_bytes(arena, most);
    int size = snprintf(url, most, "%s/v1/callbacks/%.*s/%s/%.*s/%s/%" PRIu32 "%s%s",
                        callbacks->base, TEXT_ARG(name), order, TEXT_ARG(request->ref.step),
                        direction_name(request->ref.direction), request->ref.attempt,
                        token[0] != '\0' ? "?token=" : "", token);
    assert(size > 0 && (size_t)size < most);
    return (struct text){url, (uint32_t)size};
}

/* ---- requests ---- */

static bool read_attempt(struct text text, uint32_t *ret_attempt)
{
    uint64_t number = 0;
    if (!number_take(&text, INT32_MAX, &number) || text.size > 0 || number == 0)
        return false;
    *ret_attempt = (uint32_t)number;
    return true;
}

static bool read_direction(const char *text, enum direction *ret_direction)
{
    if (strcmp(text, direction_name(DIRECTION_DO)) == 0)
        *ret_direction = DIRECTION_DO;
    else if (strcmp(text, direction_name(DIRECTION_UNDO)) == 0)
        *ret_direction = DIRECTION_UNDO;
    else
        return false;
    return true;
}

static bool read_id(const struct http_exchange *exchange, struct callback_id *ret_id,
                    struct error *ret_error)
{
    struct callback_id id = {.order = text_of(http_param(exchange, "order")),
                             .step = text_of(http_param(exchange, "step"))};
    if (order_id_validate(id.order, ret_error) != ERROR_OK)
        return false;
    if (!name_valid(id.step) || !read_direction(http_param(exchange, "direction"), &id.direction) ||
        !read_attempt(text_of(http_param(exchange, "attempt")), &id.attempt)) {
        error_set(ret_error, CODE_BAD_ID,
                  "expected .../ORDER/STEP/do|undo/ATTEMPT, as in the callback URL");
        return false;
    }
    *ret_id = id;
    return true;
}

/* By a token of http.tokens.file, or by that of the URL, whose length is not a secret. */
static bool is_authorized(const struct agent_callbacks *callbacks,
                          const struct http_exchange *exchange, const struct callback_id *id)
{
    char token[AGENT_CALLBACK_TOKEN_SIZE];
    const char *given = http_query(exchange, "token");
    if (http_authenticated(exchange))
        return http_may(exchange, HTTP_CALL_BACK);
    if (callbacks->secret.size == 0)
        return http_may(exchange, HTTP_CALL_BACK) &&
               is_loopback(config_string(callbacks->agent->service->config, "http.host"));
    if (given == NULL || strlen(given) != AGENT_CALLBACK_TOKEN_SIZE - 1)
        return false;
    agent_callback_token(callbacks->secret, text_of(callbacks->agent->name), id->order, id->step,
                         id->direction, id->attempt, token);
    return CRYPTO_memcmp(given, token, AGENT_CALLBACK_TOKEN_SIZE - 1) == 0;
}

static void refuse(struct agent_callbacks *callbacks, struct http_exchange *exchange, int status,
                   enum error_code code, const char *message)
{
    metrics_add(callbacks->refused, 1);
    log_warning_limited("refused a callback", LOG_STR("path", http_path(exchange)),
                        LOG_TEXT("code", error_code_text(code)), LOG_STR("why", message));
    http_respond_error(exchange, status, code, "%s", message);
}

/* ---- to the log ---- */

static void ask_to_retry_after(struct http_exchange *exchange, const struct error *error)
{
    http_set_header(exchange, "Retry-After", "1");
    http_respond_error_of(exchange, 503, error);
}

static void ask_to_retry(struct http_exchange *exchange, enum error_code code, const char *message)
{
    struct error error;
    error_set(&error, code, "%s", message);
    ask_to_retry_after(exchange, &error);
}

static void on_late(struct http_pending *pending)
{
    ask_to_retry(http_pending_take(pending), CODE_NOT_ACKNOWLEDGED,
                 "the brokers have not acknowledged the callback yet: send it again");
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct callback *callback = ctx;
    struct agent_callbacks *callbacks = callback->callbacks;
    struct http_exchange *exchange = http_pending_take(&callback->pending);
    bool failed = error != NULL && error_is(error);
    (void)token;
    (void)offset;
    callback->pending.to_come--;
    if (exchange != NULL && failed)
        ask_to_retry_after(exchange, error);
    else if (exchange != NULL)
        http_respond(exchange, 202, "application/json", TEXT("{\"accepted\":true}"));
    if (!failed)
        metrics_add(callbacks->accepted, 1);
    http_pending_settle(&callback->pending);
    agent_progress(callbacks->agent);
}

static void make_report(const struct agent *agent, const struct callback_id *id,
                        const struct agent_callback_body *body, struct command *ret_cmd)
{
    *ret_cmd = (struct command){.kind = COMMAND_REPORT_STEP, .order_id = id->order};
    ret_cmd->report_step = (struct report_step){
        .order_id = id->order,
        .step = id->step,
        .direction = id->direction,
        .attempt = id->attempt,
        .succeeded = body->outcome == AGENT_CALLBACK_DONE,
        .output = body->output,
        .error_name = body->error_name,
        .error_message = body->error_message,
        .effect = body->effect,
        .agent = text_of(agent->name),
        .instance = text_of(agent->service->instance_id),
    };
}

static enum error_class send(struct callback *callback, const struct callback_id *id,
                             const struct agent_callback_body *body, struct error *ret_error)
{
    struct agent *agent = callback->callbacks->agent;
    struct cluster *cluster = agent->cluster;
    struct command cmd;
    if (body->outcome == AGENT_CALLBACK_EXTEND) {
        struct extend_step extension = {
            .order_id = id->order,
            .step = id->step,
            .direction = id->direction,
            .attempt = id->attempt,
            .complete_by = clock_wall_ms(agent->service->clock) + body->extra_ms,
            .progress = body->progress,
        };
        return agent_reports_extend(agent, &extension, on_appended, callback, ret_error);
    }
    make_report(agent, id, body, &cmd);
    return cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, -1, cmd.order_id,
                          RECORD_REPORT_STEP, &cmd, on_appended, callback, 0, ret_error);
}

static void append(struct agent_callbacks *callbacks, struct http_exchange *exchange,
                   const struct callback_id *id, const struct agent_callback_body *body)
{
    struct error error;
    struct callback *callback = calloc(1, sizeof(*callback));
    assert(callback != NULL);
    callback->callbacks = callbacks;
    FAILPOINT("agent.callback");
    if (send(callback, id, body, &error) != ERROR_OK) {
        free(callback);
        ask_to_retry_after(exchange, &error);
        return;
    }
    http_pending_begin(&callbacks->pendings, &callback->pending, exchange, ACKNOWLEDGE_MS);
    callback->pending.to_come++;
}

static void on_post(struct http_exchange *exchange, void *userdata)
{
    struct agent_callbacks *callbacks = userdata;
    struct callback_id id;
    struct agent_callback_body body;
    struct error error;
    heap_arena_reset(&callbacks->scratch);
    if (!read_id(exchange, &id, &error))
        refuse(callbacks, exchange, 400, error.code, error.message);
    else if (http_read_only(exchange))
        refuse(callbacks, exchange, 403, CODE_READ_ONLY, HTTP_READ_ONLY_MESSAGE);
    else if (!is_authorized(callbacks, exchange, &id))
        refuse(callbacks, exchange, 403, CODE_BAD_TOKEN,
               callbacks->secret.size > 0
                   ? "send the token of the callback URL"
                   : "set agent.callback.secret to accept callbacks on this address");
    else if (!http_permits(exchange, HTTP_BOUND_AGENTS, text_of(callbacks->agent->name)))
        refuse(callbacks, exchange, 403, CODE_OUTSIDE_BINDING, "this token is for other agents");
    else if (agent_callback_parse(http_body(exchange), &callbacks->scratch.arena, &body, &error) !=
             ERROR_OK)
        refuse(callbacks, exchange, error.code == CODE_TOO_LARGE ? 413 : 400, error.code,
               error.message);
    else if (!callbacks->agent->cluster->ready)
        ask_to_retry(exchange, CODE_STARTING, "this instance is not ready yet");
    else if (http_pendings_admit(&callbacks->pendings, exchange))
        append(callbacks, exchange, &id, &body);
}
