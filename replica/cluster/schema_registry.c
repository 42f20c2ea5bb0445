/* SPDX-License-Identifier: Apache-2.0 */
/* See schema_registry.h. */
#include "replica/cluster/schema_registry.h"

#include "platform/http/client.h"
#include "platform/json_tree.h"
#include "platform/logger.h"
#include "schemas/avro/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TIMEOUT_MS = 10000,
    AGAIN_MS_MIN = 200,
    AGAIN_MS_MAX = 5000,
    /* A schema as a JSON string, each byte of it escaped, and what is around it. */
    RESPONSE_MAX = 6 * AVRO_SCHEMA_BYTES_MAX + 4096,
    URL_SIZE = 1024 + 128,
    /* Of Confluent's error codes. */
    SCHEMA_NOT_FOUND = 40403
};
#define MEDIA_TYPE "application/vnd.schemaregistry.v1+json"

struct registry_call {
    struct schema_registry *registry;
    bool under_way;
    enum record_kind kind; /* to be registered; 0: `id` is looked up */
    uint32_t id;
};

/* Of a kind that is written. */
enum own_state { OWN_UNUSED, OWN_WANTED, OWN_ASKED, OWN_KNOWN };
struct own_id {
    enum own_state state;
    uint32_t id;
};

struct schema_registry {
    struct loop *loop;
    struct codec *codec;
    struct http_client *client;
    char url[URL_SIZE]; /* without a slash at its end */
    struct registered *table;
    struct own_id own[RECORD_KIND_COUNT];
    struct registry_call calls[SCHEMA_REGISTRY_CALLS_MAX];
    struct error trouble; /* OK: the last call was answered */
    int64_t again_ms;
    struct loop_timer timer;       /* asks: again after trouble, or what is due */
    struct loop_deferred deferred; /* asks: records that need an id are being read now */
    void (*changed)(void *ctx);
    void *ctx;
    struct metrics_counter *answered;
    struct metrics_counter *failed;
};

static int64_t now_ms(const struct schema_registry *registry)
{
    return loop_now_ms(registry->loop);
}

/* ---- answers ---- */

static enum error_class not_a_registry(struct error *ret_error)
{
    return error_set_as(ret_error, ERROR_RETRY, CODE_NO_ANSWER,
                        "the answer is not that of a schema registry");
}

static enum error_class cannot_read(uint32_t id, const char *why, struct error *ret_error)
{
    return error_set(ret_error, CODE_BAD_SCHEMA,
                     "schema %" PRIu32 " of the schema registry cannot be used: %.500s", id, why);
}

static enum error_class learn(struct codec *codec, uint32_t id, const json_t *answer,
                              uint64_t *ret_fingerprint, struct error *ret_error)
{
    struct error error;
    const json_t *text = json_object_get(answer, "schema");
    const json_t *type = json_object_get(answer, "schemaType");
    const char *type_name = json_string_value(type);
    if (!json_is_string(text) || (type != NULL && type_name == NULL && !json_is_null(type)))
        return not_a_registry(ret_error);
    if (type_name != NULL && strcmp(type_name, "AVRO") != 0) {
        char why[160];
        snprintf(why, sizeof(why), "it is %.40s; expected AVRO", type_name);
        return cannot_read(id, why, ret_error);
    }
    if (json_array_size(json_object_get(answer, "references")) > 0)
        return cannot_read(
            id, "it refers to other schemas; register one that holds all that it needs", ret_error);
    size_t size = json_string_length(text);
    if (size > AVRO_SCHEMA_BYTES_MAX) {
        char why[160];
        snprintf(why, sizeof(why), "it is %zu bytes; the limit is %d", size, AVRO_SCHEMA_BYTES_MAX);
        return cannot_read(id, why, ret_error);
    }
    struct text avsc = {json_string_value(text), (uint32_t)size};
    if (codec_learn(codec, avsc, ret_fingerprint, &error) != ERROR_OK)
        return cannot_read(id, error.message, ret_error);
    return ERROR_OK;
}

enum error_class schema_registry_read_schema(struct codec *codec, uint32_t id, struct text json,
                                             uint64_t *ret_fingerprint, struct error *ret_error)
{
    json_t *answer = json_tree_load(json, JSON_ALLOW_NUL, NULL);
    enum error_class class = json_is_object(answer)
                                 ? learn(codec, id, answer, ret_fingerprint, ret_error)
                                 : not_a_registry(ret_error);
    json_decref(answer);
    return class;
}

/* Of a call that was answered, but not as it should have been. */
static enum error_class refused(const struct http_result *result, const json_t *answer,
                                struct error *ret_error)
{
    const char *message = json_string_value(json_object_get(answer, "message"));
    const char *hint = "";
    if (result->status == 401 || result->status == 403)
        hint = ": check schema.registry.user and schema.registry.password";
    else if (result->status == 404)
        hint = ": check schema.registry.url";
    return error_set_as(ret_error, ERROR_RETRY, CODE_NO_ANSWER, "it answers %d%s%.300s%s",
                        result->status, message != NULL ? " " : "", message != NULL ? message : "",
                        hint);
}

static enum error_class read_id(const json_t *answer, struct own_id *own, struct error *ret_error)
{
    const json_t *id = json_object_get(answer, "id");
    json_int_t value = json_integer_value(id);
    if (!json_is_integer(id) || value < 0 || value > UINT32_MAX)
        return not_a_registry(ret_error);
    *own = (struct own_id){OWN_KNOWN, (uint32_t)value};
    return ERROR_OK;
}

/* The id is looked up. RETRY: it is still to be answered. */
static enum error_class take_schema(struct schema_registry *registry, uint32_t id,
                                    const struct http_result *result, const json_t *answer,
                                    struct error *ret_error)
{
    uint64_t fingerprint = 0;
    bool found = result->status == 200;
    bool cut = found && result->body_cut;
    if (result->status == 404 &&
        json_integer_value(json_object_get(answer, "error_code")) == SCHEMA_NOT_FOUND) {
        registered_unknown(registry->table, id, now_ms(registry));
        return ERROR_OK;
    }
    if (!found)
        return refused(result, answer, ret_error);
    enum error_class class = cut ? cannot_read(id, "it is too long", ret_error)
                                 : schema_registry_read_schema(registry->codec, id, result->body,
                                                               &fingerprint, ret_error);
    if (class == ERROR_OK)
        registered_known(registry->table, id, fingerprint);
    else if (class == ERROR_REJECT)
        registered_refuse(registry->table, id, now_ms(registry), ret_error);
    return class == ERROR_RETRY ? ERROR_RETRY : ERROR_OK;
}

static enum error_class take_answer(struct schema_registry *registry,
                                    const struct registry_call *call,
                                    const struct http_result *result, struct error *ret_error)
{
    if (result->outcome != HTTP_ANSWERED)
        return error_set_as(ret_error, ERROR_RETRY, CODE_NO_ANSWER, "%.300s", result->message);
    json_t *answer = json_tree_load(result->body, JSON_ALLOW_NUL, NULL);
    enum error_class class = ERROR_OK;
    if (call->kind == 0)
        class = take_schema(registry, call->id, result, answer, ret_error);
    else if (result->status == 200 || result->status == 201)
        class = read_id(answer, &registry->own[call->kind], ret_error);
    else
        class = refused(result, answer, ret_error);
    json_decref(answer);
    return class;
}

/* ---- calls ---- */

static void ask(struct schema_registry *registry);

static void put_back(struct schema_registry *registry, const struct registry_call *call)
{
    if (call->kind != 0)
        registry->own[call->kind].state = OWN_WANTED;
    else
        registered_ask_again(registry->table, call->id);
}

static void failed(struct schema_registry *registry, const struct error *error)
{
    log_warning_limited("the schema registry does not answer as it should: records wait for it",
                        LOG_STR("url", registry->url), LOG_ERR(error));
    metrics_add(registry->failed, 1);
    registry->trouble = *error;
    if (loop_timer_armed(&registry->timer))
        return; /* one pause for all calls that were under way */
    loop_timer_after(registry->loop, &registry->timer, registry->again_ms);
    registry->again_ms =
        2 * registry->again_ms < AGAIN_MS_MAX ? 2 * registry->again_ms : AGAIN_MS_MAX;
}

static void on_answer(const struct http_result *result, void *userdata)
{
    struct registry_call *call = userdata;
    struct schema_registry *registry = call->registry;
    struct error error;
    assert(call->under_way);
    call->under_way = false;
    if (take_answer(registry, call, result, &error) != ERROR_OK) {
        put_back(registry, call);
        failed(registry, &error);
    } else {
        metrics_add(registry->answered, 1);
        registry->trouble.class = ERROR_OK;
        registry->again_ms = AGAIN_MS_MIN;
        loop_timer_cancel(registry->loop, &registry->timer);
        ask(registry);
    }
    if (registry->changed != NULL)
        registry->changed(registry->ctx);
}

static char *registration_of(enum record_kind kind)
{
    struct text avsc = codec_schema(kind);
    json_t *body = json_pack("{s:s%}", "schema", avsc.data, (size_t)avsc.size);
    char *text = json_dumps(body, JSON_COMPACT);
    assert(text != NULL);
    json_decref(body);
    return text;
}

static void send(struct schema_registry *registry, struct registry_call *call)
{
    static const char *const headers[] = {"Content-Type: " MEDIA_TYPE, "Accept: " MEDIA_TYPE, NULL};
    char url[URL_SIZE + 128];
    struct error error;
    char *body = call->kind != 0 ? registration_of(call->kind) : NULL;
    if (call->kind != 0)
        snprintf(url, sizeof(url), "%s/subjects/reeve.%s/versions", registry->url,
                 record_kind_name(call->kind));
    else
        snprintf(url, sizeof(url), "%s/schemas/ids/%" PRIu32, registry->url, call->id);
    const struct http_request request = {.method = call->kind != 0 ? "POST" : "GET",
                                         .url = url,
                                         .headers = headers,
                                         .body = body != NULL ? text_of(body) : (struct text){0},
                                         .timeout_ms = TIMEOUT_MS};
    enum error_class class = http_client_send(registry->client, &request, on_answer, call, &error);
    assert(class == ERROR_OK); /* the URL was tried at the start */
    call->under_way = true;
    free(body);
}

/* False: there is nothing to ask for now. */
static bool next_call(struct schema_registry *registry, struct registry_call *call)
{
    call->registry = registry;
    for (int kind = 1; kind < RECORD_KIND_COUNT; kind++) {
        if (registry->own[kind].state != OWN_WANTED)
            continue;
        registry->own[kind].state = OWN_ASKED;
        call->kind = (enum record_kind)kind;
        return true;
    }
    call->kind = (enum record_kind)0;
    return registered_next(registry->table, now_ms(registry), &call->id);
}

static void ask(struct schema_registry *registry)
{
    if (loop_timer_armed(&registry->timer) && error_is(&registry->trouble))
        return;
    for (uint32_t i = 0; i < SCHEMA_REGISTRY_CALLS_MAX; i++) {
        struct registry_call *call = &registry->calls[i];
        if (call->under_way)
            continue;
        if (!next_call(registry, call))
            break;
        send(registry, call);
    }
    int64_t due_ms = registered_next_ms(registry->table);
    if (due_ms > now_ms(registry) && due_ms != INT64_MAX) /* else every call is under way */
        loop_timer_set(registry->loop, &registry->timer, due_ms);
}

static void on_ask(void *ctx)
{
    ask(ctx);
}

/* Not from here: records are being read, and answers change what they find. */
static void ask_soon(struct schema_registry *registry)
{
    loop_defer(registry->loop, &registry->deferred);
}

/* ---- reading and writing ---- */

static enum error_class find(struct schema_registry *registry, uint32_t id, struct text bytes,
                             struct codec_body *ret_body, struct error *ret_error)
{
    if (registry == NULL)
        return error_set(ret_error, CODE_UNKNOWN_SCHEMA,
                         "the record has Confluent's framing, with schema %" PRIu32
                         ": set schema.registry.url to the URL of the schema registry",
                         id);
    ret_body->bytes = text_from(bytes, REGISTERED_FRAME_BYTES);
    enum error_class class =
        registered_find(registry->table, id, now_ms(registry), &ret_body->fingerprint, ret_error);
    if (class == ERROR_RETRY)
        ask_soon(registry);
    return class;
}

enum error_class schema_registry_decode(struct schema_registry *registry, struct codec *codec,
                                        struct text bytes, bool borrow, struct arena *arena,
                                        struct record *ret_record, struct error *ret_error)
{
    uint32_t id;
    struct codec_body body;
    if (bytes.size > RECORD_BYTES_MAX || !registered_peek(bytes, &id))
        return codec_decode(codec, bytes, borrow, arena, ret_record, ret_error);
    enum error_class class = find(registry, id, bytes, &body, ret_error);
    if (class != ERROR_OK)
        return class;
    if (codec_knows(codec, body.fingerprint))
        return codec_decode_body(codec, &body, borrow, arena, ret_record, ret_error);
    /* It had to make room: it is learned again once a record has asked for it. */
    class = codec_decode_body(codec, &body, borrow, arena, ret_record, ret_error);
    assert(class != ERROR_OK);
    registered_ask_again(registry->table, id);
    return find(registry, id, bytes, &body, ret_error);
}

bool schema_registry_waits(const struct schema_registry *registry, struct text bytes)
{
    uint32_t id;
    return registry != NULL && registered_peek(bytes, &id) && registered_waits(registry->table, id);
}

void schema_registry_read_sender(struct schema_registry *registry, struct codec *codec,
                                 struct text bytes, struct arena *arena, struct text *ret_order_id,
                                 struct text *ret_reply_to)
{
    uint32_t id;
    struct codec_body body;
    *ret_order_id = *ret_reply_to = (struct text){0};
    if (!registered_peek(bytes, &id))
        codec_read_sender(codec, bytes, arena, ret_order_id, ret_reply_to);
    else if (registry != NULL && find(registry, id, bytes, &body, NULL) == ERROR_OK)
        codec_read_sender_of_body(codec, &body, arena, ret_order_id, ret_reply_to);
}

bool schema_registry_id(struct schema_registry *registry, enum record_kind kind, uint32_t *ret_id)
{
    struct own_id *own = &registry->own[kind];
    if (own->state == OWN_UNUSED) {
        own->state = OWN_WANTED;
        ask_soon(registry);
    }
    *ret_id = own->id;
    return own->state == OWN_KNOWN;
}

bool schema_registry_trouble(const struct schema_registry *registry, char *ret_reason,
                             size_t reason_size)
{
    if (registry == NULL || !error_is(&registry->trouble))
        return false;
    snprintf(ret_reason, reason_size, "records wait for the schema registry %.200s: %s",
             registry->url, registry->trouble.message);
    return true;
}

/* ---- life ---- */

static enum error_class open_client(struct schema_registry *registry, const struct config *config,
                                    struct error *ret_error)
{
    const char *url = config_string(config, "schema.registry.url");
    const char *user = config_string(config, "schema.registry.user");
    const char *ca_file = config_string(config, "schema.registry.tls.ca");
    size_t size = strlen(url);
    if (!string_starts_with(url, "http://") && !string_starts_with(url, "https://"))
        return error_set(ret_error, CODE_CONFIG,
                         "schema.registry.url is \"%.200s\"; expected a URL such as "
                         "http://127.0.0.1:8081",
                         url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    snprintf(registry->url, sizeof(registry->url), "%.*s", (int)size, url);
    const struct http_client_options options = {
        .connections_max = SCHEMA_REGISTRY_CALLS_MAX,
        .response_max = RESPONSE_MAX,
        .ca_file = ca_file[0] != '\0' ? ca_file : NULL,
        .user = user[0] != '\0' ? user : NULL,
        .password = config_string(config, "schema.registry.password")};
    return http_client_new(registry->loop, &options, &registry->client, ret_error);
}

static void make_metrics(struct schema_registry *registry, struct metrics *metrics)
{
    static const char name[] = "reeve_schema_registry_calls_total";
    static const char help[] = "Calls of the schema registry, by result.";
    registry->answered = metrics_counter(metrics, name, help, METRICS_LABEL("result", "answered"));
    registry->failed = metrics_counter(metrics, name, help, METRICS_LABEL("result", "failed"));
}

enum error_class schema_registry_new(struct loop *loop, const struct config *config,
                                     struct codec *codec, struct metrics *metrics,
                                     struct schema_registry **ret_registry, struct error *ret_error)
{
    *ret_registry = NULL;
    if (config_string(config, "schema.registry.url")[0] == '\0')
        return ERROR_OK;
    struct schema_registry *registry = calloc(1, sizeof(*registry));
    assert(registry != NULL);
    registry->loop = loop;
    registry->codec = codec;
    registry->table = registered_new();
    registry->again_ms = AGAIN_MS_MIN;
    loop_timer_init(&registry->timer, on_ask, registry);
    loop_deferred_init(&registry->deferred, on_ask, registry);
    make_metrics(registry, metrics);
    enum error_class class = open_client(registry, config, ret_error);
    if (class == ERROR_OK)
        *ret_registry = registry;
    else
        schema_registry_free(registry);
    return class;
}

void schema_registry_free(struct schema_registry *registry)
{
    if (registry == NULL)
        return;
    loop_timer_cancel(registry->loop, &registry->timer);
    loop_defer_cancel(registry->loop, &registry->deferred);
    http_client_free(registry->client);
    registered_free(registry->table);
    free(registry);
}

void schema_registry_on_change(struct schema_registry *registry, void (*changed)(void *ctx),
                               void *ctx)
{
    registry->changed = changed;
    registry->ctx = ctx;
}
