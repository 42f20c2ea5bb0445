/* SPDX-License-Identifier: Apache-2.0 */
/* One POST per try over platform/http/client.h. http_message.c translates requests and answers; the
 * SDK does the retries and reports. */
#include "services/agent/kinds/kinds.h"

#include "base/heap_arena.h"
#include "platform/http/client.h"
#include "platform/http/header_lines.h"
#include "services/agent/kinds/http_message.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRATCH_BYTES = 64 * 1024, RESPONSE_BYTES_MAX = REPORT_BYTES_MAX };

struct http_agent {
    struct http_client *client;
    char url[HTTP_MESSAGE_URL_SIZE]; /* without a slash at its end */
    char probe_url[HTTP_MESSAGE_URL_SIZE];
    struct header_lines headers; /* of the configuration */
    int64_t try_timeout_ms;
    /* An answer that comes a little late still counts: the scheduler waits as long. */
    int64_t margin_ms;
    bool offers_callbacks; /* the same for all calls */
    bool begins_traces;    /* traces.url is set */
    struct heap_arena scratch;
};

static enum error_class read_url(struct http_agent *agent, const char *url, struct error *ret_error)
{
    size_t size = strlen(url);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(ret_error, CODE_CONFIG,
                         "agent.http.url must be the base URL of the remote service, such as "
                         "http://127.0.0.1:8090/stock");
    while (size > 0 && url[size - 1] == '/')
        size--;
    assert(size < sizeof(agent->url) - NAME_BYTES_MAX - 1); /* the configuration's limit */
    memcpy(agent->url, url, size);
    agent->url[size] = '\0';
    return ERROR_OK;
}

/* Empty: the URL of the service. */
static enum error_class read_probe_url(struct http_agent *agent, const char *url,
                                       struct error *ret_error)
{
    if (url[0] == '\0')
        url = agent->url;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(ret_error, CODE_CONFIG,
                         "agent.http.probe.url must be a URL, such as "
                         "http://127.0.0.1:8090/health");
    snprintf(agent->probe_url, sizeof(agent->probe_url), "%s", url);
    return ERROR_OK;
}

/* Of a key with the path of a file. *ret_path: NULL if it is not set. */
static enum error_class read_path(const struct config *config, const char *key,
                                  const char **ret_path, struct error *ret_error)
{
    const char *path = config_string(config, key);
    if (path[0] == '\0')
        return ERROR_OK;
    if (access(path, R_OK) != 0)
        return error_set(ret_error, CODE_CONFIG,
                         "%s must be the path of a PEM file; cannot read %.300s: %s", key, path,
                         strerror(errno));
    *ret_path = path;
    return ERROR_OK;
}

static enum error_class read_tls(const struct config *config, struct http_client_options *options,
                                 struct error *ret_error)
{
    enum error_class class = read_path(config, "agent.http.tls.ca", &options->ca_file, ret_error);
    if (class == ERROR_OK)
        class = read_path(config, "agent.http.tls.cert", &options->cert_file, ret_error);
    if (class == ERROR_OK)
        class = read_path(config, "agent.http.tls.key", &options->key_file, ret_error);
    if (class == ERROR_OK && (options->cert_file == NULL) != (options->key_file == NULL))
        class = error_set(ret_error, CODE_CONFIG,
                          "agent.http.tls.cert and agent.http.tls.key belong together: set both");
    return class;
}

static void stop(void *ctx)
{
    struct http_agent *agent = ctx;
    header_lines_deinit(&agent->headers);
    if (agent->client != NULL)
        http_client_free(agent->client);
    heap_arena_deinit(&agent->scratch);
    free(agent);
}

static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    const struct config *config = service->config;
    struct http_agent *agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    heap_arena_init(&agent->scratch, SCRATCH_BYTES);
    agent->try_timeout_ms = config_ms(config, "agent.http.try.timeout.ms");
    agent->margin_ms = config_ms(config, "clock.skew.max.ms");
    agent->begins_traces = config_string(config, "traces.url")[0] != '\0';
    struct http_client_options options = {
        .connections_max = (size_t)config_int(config, "agent.in.flight.max"),
        .connect_timeout_ms = config_ms(config, "agent.http.connect.timeout.ms"),
        .response_max = RESPONSE_BYTES_MAX,
    };
    enum error_class class = read_url(agent, config_string(config, "agent.http.url"), ret_error);
    if (class == ERROR_OK)
        class = read_probe_url(agent, config_string(config, "agent.http.probe.url"), ret_error);
    if (class == ERROR_OK)
        class =
            header_lines_parse("agent.http.headers", config_string(config, "agent.http.headers"),
                               &agent->headers, ret_error);
    if (class == ERROR_OK)
        class = read_tls(config, &options, ret_error);
    if (class == ERROR_OK)
        class = http_client_new(service->loop, &options, &agent->client, ret_error);
    if (class != ERROR_OK) {
        stop(agent);
        return class;
    }
    *ret_ctx = agent;
    return ERROR_OK;
}

static void on_result(const struct http_result *result, void *userdata)
{
    struct agent_call *call = userdata;
    struct http_agent *agent = call->userdata;
    struct http_message_outcome outcome;
    heap_arena_reset(&agent->scratch);
    http_message_outcome(result, &agent->scratch.arena, &outcome);
    if (outcome.accepted && agent->offers_callbacks)
        agent_call_accept(call);
    else if (outcome.succeeded)
        agent_call_succeed(call, outcome.output);
    else
        agent_call_fail(call, &outcome.failure);
}

/* Also an undo: the body contains the direction. */
static void execute(void *ctx, struct agent_call *call)
{
    struct http_agent *agent = ctx;
    struct arena *arena = &agent->scratch.arena;
    const char *headers[HEADER_LINES_MAX + HTTP_MESSAGE_HEADERS + 1];
    char url[HTTP_MESSAGE_URL_SIZE];
    struct error error;
    heap_arena_reset(&agent->scratch);
    call->userdata = agent;
    struct text callback = agent_call_callback(call, arena);
    agent->offers_callbacks = callback.size > 0;
    uint32_t own = agent->headers.count;
    memcpy(headers, agent->headers.lines, own * sizeof(headers[0]));
    http_message_headers(call->request, call->try_number, agent->begins_traces, callback, arena,
                         headers + own);
    int64_t left_ms = call->time_left_ms + agent->margin_ms;
    struct http_request request = {
        .url = url,
        .headers = headers,
        .body = http_message_body(call->request, arena),
        .timeout_ms = left_ms < agent->try_timeout_ms ? left_ms : agent->try_timeout_ms,
        .send_within_ms = call->time_left_ms,
    };
    if (http_message_url(agent->url, call->request->action, url, &error) == ERROR_OK &&
        http_client_send(agent->client, &request, on_result, call, &error) == ERROR_OK)
        return;
    agent_call_fail(call, &(struct agent_failure){.name = TEXT("Http.BadUrl"),
                                                  .message = text_of(error.message),
                                                  .effect = EFFECT_NONE});
}

/* ---- the probe ---- */

static void on_probed(const struct http_result *result, void *userdata)
{
    struct agent_probe *probe = userdata;
    char why[64];
    if (result->outcome != HTTP_ANSWERED) {
        agent_probe_end(probe, false, text_of(result->message));
        return;
    }
    snprintf(why, sizeof(why), "the probe was answered with %d", result->status);
    agent_probe_end(probe, result->status >= 200 && result->status < 500, text_of(why));
}

/* Any answer but 5xx proves that the service is healthy, even 404. */
static void probe(void *ctx, struct agent_probe *probe)
{
    struct http_agent *agent = ctx;
    const char *headers[HEADER_LINES_MAX + 1] = {NULL};
    struct error error;
    memcpy(headers, agent->headers.lines, agent->headers.count * sizeof(headers[0]));
    struct http_request request = {.method = "GET",
                                   .url = agent->probe_url,
                                   .headers = headers,
                                   .timeout_ms = agent->try_timeout_ms};
    if (http_client_send(agent->client, &request, on_probed, probe, &error) != ERROR_OK)
        agent_probe_end(probe, false, text_of(error.message));
}

const struct agent_ops http_agent_ops = {
    .name = NULL,
    .start = start,
    .execute = execute,
    .compensate = execute,
    .probe = probe,
    .stop = stop,
};
