/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/signal_json.h"

#include "schemas/json/json_codec.h"

struct signal_body {
    struct text order_id;
    struct text step;
    struct text id;
    struct text payload;
    struct text choice;
    struct text comment;
    struct text by;
    struct text reply_to;
};

static const struct field_binding signal_fields[] = {
    F_TEXT(OPTIONAL, struct signal_body, order_id, ORDER_ID_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, step, NAME_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, id, SIGNAL_ID_BYTES),
    F_JSON(OPTIONAL, struct signal_body, payload, SIGNAL_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, choice, SIGNAL_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, comment, SIGNAL_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, by, WHO_BYTES),
    F_TEXT(OPTIONAL, struct signal_body, reply_to, TOPIC_BYTES),
};
static const struct record_binding binding_signal_body = BINDING(struct signal_body, signal_fields);

static bool has(struct json_value body, const char *name)
{
    return json_value_kind(json_value_member(body, text_of(name), NULL)) != JSON_KIND_NONE;
}

/* False: too long. */
static bool make_choice(const struct signal_body *signal, bool has_comment, struct arena *arena,
                        struct text *ret_payload)
{
    struct json_writer writer;
    json_writer_init(&writer, SIGNAL_BYTES_MAX, arena);
    json_write_map(&writer);
    json_write_name(&writer, TEXT("choice"));
    json_write_text(&writer, signal->choice);
    if (has_comment) {
        json_write_name(&writer, TEXT("comment"));
        json_write_text(&writer, signal->comment);
    }
    json_write_close(&writer);
    return json_writer_done(&writer, ret_payload);
}

static enum error_class make_payload(struct json_value body, const struct signal_body *signal,
                                     struct arena *arena, struct text *ret_payload,
                                     struct error *ret_error)
{
    bool has_payload = has(body, "payload"), has_choice = has(body, "choice");
    bool has_comment = has(body, "comment");
    if (has_payload == has_choice)
        return error_set(ret_error, CODE_BAD_FIELD,
                         has_choice ? "payload, choice: expected one of them; a choice with its "
                                      "comment is the payload"
                                    : "payload: expected any JSON value, or a choice in place of "
                                      "it");
    if (has_comment && !has_choice)
        return error_set(ret_error, CODE_BAD_FIELD, "comment: expected with a choice");
    if (has_payload)
        *ret_payload = text_empty(signal->payload) ? TEXT("null") : signal->payload;
    else if (!make_choice(signal, has_comment, arena, ret_payload))
        return error_set(ret_error, CODE_BAD_FIELD,
                         "choice, comment: together they are longer than %d bytes",
                         SIGNAL_BYTES_MAX);
    return ERROR_OK;
}

enum error_class signal_json_read(struct json_value body, const char *const fields[],
                                  struct arena *arena, struct signal_order *ret_signal,
                                  struct error *ret_error)
{
    struct signal_body signal = {.id = {0}};
    struct text payload = {0};
    enum error_class class =
        json_codec_decode(&binding_signal_body, fields, 0, body, arena, &signal, ret_error);
    if (class == ERROR_OK)
        class = make_payload(body, &signal, arena, &payload, ret_error);
    if (class != ERROR_OK)
        return class;
    *ret_signal = (struct signal_order){.order_id = signal.order_id,
                                        .step = signal.step,
                                        .id = signal.id,
                                        .payload = payload,
                                        .by = signal.by,
                                        .reply_to = signal.reply_to};
    return ERROR_OK;
}
