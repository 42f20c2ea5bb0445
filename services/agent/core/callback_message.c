/* SPDX-License-Identifier: Apache-2.0 */
/* The body and the token of a callback. See callbacks.h. */
#include "base/utf8.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/core/sanitize.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

enum { ID_BYTES_MAX = ORDER_ID_BYTES_MAX + 2 * NAME_BYTES_MAX + 64, SHA256_BYTES = 32 };

void agent_callback_token(struct text secret, struct text agent, struct text order,
                          struct text step, enum direction direction, uint32_t attempt,
                          char ret_token[AGENT_CALLBACK_TOKEN_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    char id[ID_BYTES_MAX];
    uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned mac_size = 0;
    /* No part can hold a '/': different ids stay different. */
    int size = snprintf(id, sizeof(id), "%.*s/%.*s/%.*s/%s/%" PRIu32, TEXT_ARG(agent),
                        TEXT_ARG(order), TEXT_ARG(step), direction_name(direction), attempt);
    assert(size > 0 && (size_t)size < sizeof(id));
    const uint8_t *done = HMAC(EVP_sha256(), secret.data, (int)secret.size, (const uint8_t *)id,
                               (size_t)size, mac, &mac_size);
    assert(done != NULL && mac_size == SHA256_BYTES);
    for (unsigned i = 0; i < SHA256_BYTES; i++) {
        ret_token[2 * i] = digits[mac[i] >> 4];
        ret_token[2 * i + 1] = digits[mac[i] & 15];
    }
    ret_token[2 * SHA256_BYTES] = '\0';
}

/* ---- bodies ---- */

/* A string member; *ret_text stays as it is when there is none. False: it is not a string. */
static bool take_string(const json_t *json, const char *name, struct arena *arena,
                        struct text *ret_text)
{
    const json_t *value = json_object_get(json, name);
    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return false;
    size_t size = json_string_length(value);
    assert(size <= AGENT_CALLBACK_BODY_MAX);
    *ret_text = arena_text(arena, (struct text){json_string_value(value), (uint32_t)size});
    return true;
}

static enum error_class read_done(const json_t *json, struct arena *arena,
                                  struct agent_callback_body *body, struct error *ret_error)
{
    const json_t *value = json_object_get(json, "output");
    if (value == NULL || json_is_null(value))
        return ERROR_OK;
    size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
    if (size > STEP_OUTPUT_BYTES_MAX)
        return error_set(ret_error, CODE_TOO_LARGE, "output is %zu bytes; the limit is %d", size,
                         STEP_OUTPUT_BYTES_MAX);
    char *text = arena_bytes(arena, size);
    size_t written = json_dumpb(value, text, size, JSON_COMPACT | JSON_ENCODE_ANY);
    assert(size > 0 && written == size);
    body->output = (struct text){text, (uint32_t)size};
    return ERROR_OK;
}

static enum error_class read_failed(const json_t *json, struct arena *arena,
                                    struct agent_callback_body *body, struct error *ret_error)
{
    struct text effect = TEXT("unknown");
    struct text message = TEXT("");
    body->error_name = TEXT("Callback.Failed");
    if (!take_string(json, "error", arena, &body->error_name) ||
        !error_name_valid(body->error_name))
        return error_set(ret_error, CODE_BAD_CALLBACK,
                         "error must be 1 to 64 of [A-Za-z0-9._-] and must not begin with States.");
    if (!take_string(json, "message", arena, &message))
        return error_set(ret_error, CODE_BAD_CALLBACK, "message must be a string");
    body->error_message = agent_message(message, arena);
    if (!take_string(json, "effect", arena, &effect))
        effect = TEXT("");
    uint32_t value;
    if (enum_names_find(&effect_names, effect, &value)) {
        body->effect = (enum effect)value;
        return ERROR_OK;
    }
    return error_set(ret_error, CODE_BAD_CALLBACK, "effect must be none, applied or unknown");
}

static enum error_class read_extend(const json_t *json, struct arena *arena,
                                    struct agent_callback_body *body, struct error *ret_error)
{
    const json_t *seconds = json_object_get(json, "seconds");
    struct text progress = TEXT("");
    if (!json_is_number(seconds) || json_number_value(seconds) <= 0 ||
        json_number_value(seconds) > (double)DURATION_MS_MAX / 1000)
        return error_set(
            ret_error, CODE_BAD_CALLBACK,
            "seconds must be a number greater than 0: how much more time is needed from now on");
    if (!take_string(json, "progress", arena, &progress))
        return error_set(ret_error, CODE_BAD_CALLBACK, "progress must be a string");
    body->extra_ms = (int64_t)(json_number_value(seconds) * 1000);
    body->progress = agent_message(progress, arena);
    return ERROR_OK;
}

static enum error_class read_outcome(const json_t *json, struct arena *arena,
                                     struct agent_callback_body *body, struct error *ret_error)
{
    struct text outcome = TEXT("");
    take_string(json, "outcome", arena, &outcome);
    if (text_equal(outcome, TEXT("done"))) {
        body->outcome = AGENT_CALLBACK_DONE;
        body->effect = EFFECT_APPLIED;
        return read_done(json, arena, body, ret_error);
    }
    if (text_equal(outcome, TEXT("failed"))) {
        body->outcome = AGENT_CALLBACK_FAILED;
        return read_failed(json, arena, body, ret_error);
    }
    if (text_equal(outcome, TEXT("extend"))) {
        body->outcome = AGENT_CALLBACK_EXTEND;
        return read_extend(json, arena, body, ret_error);
    }
    return error_set(ret_error, CODE_BAD_CALLBACK, "outcome must be done, failed or extend");
}

enum error_class agent_callback_parse(struct text body, struct arena *arena,
                                      struct agent_callback_body *ret_body, struct error *ret_error)
{
    struct agent_callback_body parsed = {.output = TEXT("")};
    json_error_t where;
    json_t *value =
        body.size > 0 ? json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (!json_is_object(value)) {
        json_decref(value);
        return error_set(ret_error, CODE_BAD_CALLBACK,
                         "the body must be a JSON object with an outcome");
    }
    enum error_class class = read_outcome(value, arena, &parsed, ret_error);
    json_decref(value);
    if (class == ERROR_OK)
        *ret_body = parsed;
    return class;
}
