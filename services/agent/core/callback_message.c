/* SPDX-License-Identifier: Apache-2.0 */
/* The body and the token of a callback. See callbacks.h. */
#include "base/json.h"
#include "base/utf8.h"
#include "services/agent/core/callbacks.h"
#include "services/agent/core/sanitize.h"

#include <assert.h>
#include <inttypes.h>
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

/* A text member; *ret_text stays as it is when there is none. False: it is not a text. */
static bool take_text(struct json_value body, const char *name, struct arena *arena,
                      struct text *ret_text)
{
    struct json_value value = json_value_member(body, text_of(name), NULL);
    enum json_kind kind = json_value_kind(value);
    if (kind == JSON_KIND_TEXT)
        *ret_text = json_unescape(json_value_escaped(value, NULL), arena);
    return kind == JSON_KIND_TEXT || kind == JSON_KIND_NULL || kind == JSON_KIND_NONE;
}

static enum error_class read_done(struct json_value body, struct arena *arena,
                                  struct agent_callback_body *parsed, struct error *ret_error)
{
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    struct json_value value = json_value_member(body, TEXT("output"), NULL);
    enum json_kind kind = json_value_kind(value);
    if (kind == JSON_KIND_NULL || kind == JSON_KIND_NONE)
        return ERROR_OK;
    struct text output = json_value_text(value, NULL);
    if (output.size > REPORT_OUTPUT_BYTES_MAX)
        return error_set(ret_error, CODE_TOO_LARGE, "output is %u bytes; the limit is %d",
                         output.size, REPORT_OUTPUT_BYTES_MAX);
    if (json_canonical(output, UINT32_MAX, arena, &parsed->output, &problem))
        return ERROR_OK;
    json_problem_format(&problem, "output", line); /* it is too deep */
    return error_set(ret_error, CODE_BAD_CALLBACK, "%s", line);
}

static enum error_class read_failed(struct json_value body, struct arena *arena,
                                    struct agent_callback_body *parsed, struct error *ret_error)
{
    struct text effect = TEXT("unknown");
    struct text message = TEXT("");
    parsed->error_name = TEXT("Callback.Failed");
    if (!take_text(body, "error", arena, &parsed->error_name) ||
        !error_name_valid(parsed->error_name))
        return error_set(ret_error, CODE_BAD_CALLBACK, "error must be " ERROR_NAME_EXPECTED);
    if (!take_text(body, "message", arena, &message))
        return error_set(ret_error, CODE_BAD_CALLBACK, "message must be a string");
    parsed->error_message = agent_message(message, arena);
    if (!take_text(body, "effect", arena, &effect))
        effect = TEXT("");
    uint32_t value;
    if (enum_names_find(&effect_names, effect, &value)) {
        parsed->effect = (enum effect)value;
        return ERROR_OK;
    }
    return error_set(ret_error, CODE_BAD_CALLBACK, "effect must be none, applied or unknown");
}

/* As whole milliseconds, 1 at least. */
static bool read_seconds(struct json_value value, int64_t *ret_ms)
{
    struct json_number number;
    int64_t ms;
    if (!json_value_number(value, &number) || number.count == 0 || number.negative)
        return false;
    number.exponent += 3;
    while (number.count > 0 && number.exponent < 0) { /* finer than a millisecond */
        number.count--;
        number.exponent++;
    }
    if (number.count == 0)
        number.exponent = 0;
    if (!json_number_integer(&number, &ms) || ms < 1 || ms > DURATION_MS_MAX)
        return false;
    *ret_ms = ms;
    return true;
}

static enum error_class read_extend(struct json_value body, struct arena *arena,
                                    struct agent_callback_body *parsed, struct error *ret_error)
{
    struct text progress = TEXT("");
    if (!read_seconds(json_value_member(body, TEXT("seconds"), NULL), &parsed->extra_ms))
        return error_set(ret_error, CODE_BAD_CALLBACK,
                         "seconds must be a number from 0.001 to %" PRId64
                         ": how much more time is needed from now on",
                         (int64_t)(DURATION_MS_MAX / 1000));
    if (!take_text(body, "progress", arena, &progress))
        return error_set(ret_error, CODE_BAD_CALLBACK, "progress must be a string");
    parsed->progress = agent_message(progress, arena);
    return ERROR_OK;
}

static enum error_class read_outcome(struct json_value body, struct arena *arena,
                                     struct agent_callback_body *parsed, struct error *ret_error)
{
    struct text outcome = TEXT("");
    take_text(body, "outcome", arena, &outcome);
    if (text_equal(outcome, TEXT("done"))) {
        parsed->outcome = AGENT_CALLBACK_DONE;
        parsed->effect = EFFECT_APPLIED;
        return read_done(body, arena, parsed, ret_error);
    }
    if (text_equal(outcome, TEXT("failed"))) {
        parsed->outcome = AGENT_CALLBACK_FAILED;
        return read_failed(body, arena, parsed, ret_error);
    }
    if (text_equal(outcome, TEXT("extend"))) {
        parsed->outcome = AGENT_CALLBACK_EXTEND;
        return read_extend(body, arena, parsed, ret_error);
    }
    return error_set(ret_error, CODE_BAD_CALLBACK, "outcome must be done, failed or extend");
}

enum error_class agent_callback_parse(struct text body, struct arena *arena,
                                      struct agent_callback_body *ret_body, struct error *ret_error)
{
    struct agent_callback_body parsed = {.output = TEXT("")};
    struct text canonical = {0};
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    if (!json_envelope(body, arena, &canonical, &problem)) {
        json_problem_format(&problem, "the body", line);
        return error_set(ret_error, CODE_BAD_CALLBACK, "%s", line);
    }
    struct json_value value = json_value_of(canonical);
    if (json_value_kind(value) != JSON_KIND_MAP)
        return error_set(ret_error, CODE_BAD_CALLBACK,
                         "the body must be a JSON object with an outcome");
    enum error_class class = read_outcome(value, arena, &parsed, ret_error);
    if (class == ERROR_OK)
        *ret_body = parsed;
    return class;
}
