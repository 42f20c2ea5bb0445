/* SPDX-License-Identifier: Apache-2.0 */
/* Records of JSON in place of Avro, for applications without an Avro library: what they submit, and
 * the StatusUpdates that they get. The header `content-type` says "application/json"; the header
 * `record` says which record it is, and is SubmitOrder when left out.
 *
 *     SubmitOrder   as in submission_json.h
 *     CancelOrder   {"order_id": ..., "reason": ..., "by": ..., "reply_to": ...}
 *     SignalOrder   {"order_id": ..., "step": ..., "id": ..., "reply_to": ...}, with `payload`, or
 *                   `choice` and `comment`, as in signal_json.h
 *     StatusUpdate  the fields of StatusUpdate.avsc, but for those that hold nothing
 */
#ifndef SCHEMAS_JSON_KAFKA_JSON_H
#define SCHEMAS_JSON_KAFKA_JSON_H

#include "engine/command.h"
#include "schemas/records.h"

#include <jansson.h>

#define KAFKA_JSON_CONTENT_TYPE "content-type"
#define KAFKA_JSON_RECORD "record"
#define KAFKA_JSON "application/json"

/* Whether the value of the header says that the record is JSON; parameters do not matter. */
bool kafka_json_is_type(struct text content_type);
/* A record of an application: `name` is that of the header, or empty. Texts are new in `arena`, or
 * borrowed. REJECT "NotAccepted": no submission has that name; "BadJson", "UnknownField" or
 * "BadField". */
enum error_class kafka_json_read(struct text json, struct text name, struct arena *arena,
                                 struct command *ret_cmd, struct error *ret_error);
/* Of a record that kafka_json_read() refused, as far as they can be read; else unchanged. */
void kafka_json_read_sender(struct text json, struct arena *arena, struct text *ret_order_id,
                            struct text *ret_reply_to);

/* New; platform/json_tree.h prints it. */
json_t *kafka_json_status(const struct status_update *status);
/* What that has made. REJECT: as kafka_json_read(). */
enum error_class kafka_json_read_status(struct text json, struct arena *arena,
                                        struct status_update *ret_status, struct error *ret_error);

#endif
