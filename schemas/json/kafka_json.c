/* SPDX-License-Identifier: Apache-2.0 */
/* See kafka_json.h. */
#include "schemas/json/kafka_json.h"

#include "schemas/json/json_codec.h"
#include "schemas/json/signal_json.h"
#include "schemas/json/submission_json.h"

#include <strings.h>

bool kafka_json_is_type(struct text content_type)
{
    const struct text json = TEXT(KAFKA_JSON);
    return content_type.size >= json.size &&
           strncasecmp(content_type.data, json.data, json.size) == 0 &&
           (content_type.size == json.size || content_type.data[json.size] == ';' ||
            content_type.data[json.size] == ' ');
}

static enum error_class read_cancel(struct text json, struct arena *arena,
                                    struct cancel_order *ret_cancel, struct error *ret_error)
{
    static const char *const fields[] = {"order_id", "reason", "by", "reply_to", NULL};
    struct json_value object;
    enum error_class class = json_codec_parse(json, "cancellation", arena, &object, ret_error);
    return class != ERROR_OK
               ? class
               : json_codec_decode(record_kind_info(RECORD_CANCEL_ORDER)->binding, fields,
                                   JSON_CODEC_ANY_SIZE, object, arena, ret_cancel, ret_error);
}

static enum error_class read_signal(struct text json, struct arena *arena,
                                    struct signal_order *ret_signal, struct error *ret_error)
{
    static const char *const fields[] = {"order_id", "step",    "id",       "payload",
                                         "choice",   "comment", "reply_to", NULL};
    struct json_value object;
    enum error_class class = json_codec_parse(json, "signal", arena, &object, ret_error);
    return class != ERROR_OK ? class
                             : signal_json_read(object, fields, arena, ret_signal, ret_error);
}

enum error_class kafka_json_read(struct text json, struct text name, struct arena *arena,
                                 struct command *ret_cmd, struct error *ret_error)
{
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER};
    enum error_class class = ERROR_OK;
    if (text_empty(name) || text_equal(name, TEXT("SubmitOrder"))) {
        class = submission_json_read(json, arena, &cmd.submit_order, ret_error);
        cmd.order_id = cmd.submit_order.order_id;
    } else if (text_equal(name, TEXT("CancelOrder"))) {
        cmd.kind = COMMAND_CANCEL_ORDER;
        class = read_cancel(json, arena, &cmd.cancel_order, ret_error);
        cmd.order_id = cmd.cancel_order.order_id;
    } else if (text_equal(name, TEXT("SignalOrder"))) {
        cmd.kind = COMMAND_SIGNAL_ORDER;
        class = read_signal(json, arena, &cmd.signal_order, ret_error);
        cmd.order_id = cmd.signal_order.order_id;
    } else {
        class = error_set(ret_error, CODE_NOT_ACCEPTED,
                          "the header " KAFKA_JSON_RECORD " is \"%.*s\"; expected SubmitOrder, "
                          "CancelOrder or SignalOrder",
                          name.size < 80 ? (int)name.size : 80, name.data);
    }
    if (class == ERROR_OK)
        *ret_cmd = cmd;
    return class;
}

static void take_text(struct json_value object, const char *name, struct arena *arena,
                      struct text *ret_text)
{
    struct json_value value = json_value_member(object, text_of(name), NULL);
    if (json_value_kind(value) == JSON_KIND_TEXT)
        *ret_text = json_unescape(json_value_escaped(value, NULL), arena);
}

void kafka_json_read_sender(struct text json, struct arena *arena, struct text *ret_order_id,
                            struct text *ret_reply_to)
{
    struct json_value object;
    if (json_codec_parse(json, "record", arena, &object, NULL) != ERROR_OK)
        return;
    take_text(object, "order_id", arena, ret_order_id);
    take_text(object, "reply_to", arena, ret_reply_to);
}

static const struct record_binding *status_binding(void)
{
    return record_kind_info(RECORD_STATUS_UPDATE)->binding;
}

/* Of the object, and of the objects in its lists. */
static void leave_out_nulls(json_t *object)
{
    const char *name;
    json_t *value;
    json_t *element;
    size_t index;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        json_array_foreach(value, index, element)
            leave_out_nulls(element);
        if (json_is_null(value))
            json_object_del(object, name);
    }
}

json_t *kafka_json_status(const struct status_update *status)
{
    json_t *object = json_codec_encode(status_binding(), status, JSON_CODEC_NULLS);
    leave_out_nulls(object);
    return object;
}

enum error_class kafka_json_read_status(struct text json, struct arena *arena,
                                        struct status_update *ret_status, struct error *ret_error)
{
    struct json_value object;
    enum error_class class = json_codec_parse(json, "status", arena, &object, ret_error);
    return class != ERROR_OK
               ? class
               : json_codec_decode(status_binding(), NULL, 0, object, arena, ret_status, ret_error);
}
