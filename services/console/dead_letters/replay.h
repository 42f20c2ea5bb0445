/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay of a dead letter appends, and when it is refused. Pure, but for the codec.
 *
 * The record goes to the topic that it came from, with the value and the headers that the dead
 * letter holds. If the value can be decoded, its key is the order's id, and its partition that of
 * the order, which is the rule of every topic that reeve reads and writes by order. Otherwise both
 * stay what they were. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_REPLAY_H
#define SERVICES_CONSOLE_DEAD_LETTERS_REPLAY_H

#include "base/json.h"
#include "kafka/topics/topics.h"
#include "replica/cluster/dead_letter.h"
#include "schemas/avro/codec.h"

struct replay_plan {
    char topic[TOPIC_NAME_SIZE];
    bool by_key;       /* the partition follows from the key */
    int32_t partition; /* if not */
    struct text key;   /* borrowed from the arguments or the arena, like the value */
    struct text value;
    bool corrected;
};

/* `corrected`: the operator's value; .data NULL: the dead letter's own. Whatever a corrected value
 * says, `by` is the one who acts: it is the `by` of a command, and the instance of a report.
 * REJECT: "NotReplayable", "ValueCut", or "BadValue" if the operator's value is not a record that
 * the topic takes. */
enum error_class replay_plan(const struct broker_record *record,
                             const struct dead_letter_reading *reading, struct text corrected,
                             struct text by, const struct topics *topics, struct codec *codec,
                             struct arena *arena, struct replay_plan *ret_plan,
                             struct error *ret_error);

/* Encodes an operator's value that is given as JSON: of a command, a StepRequest, a StatusUpdate or
 * an OperatorAlert. `record_name` empty: SubmitOrder. Appends to `buffer`. REJECT. */
enum error_class replay_encode(struct text record_name, struct json_value json, struct codec *codec,
                               struct arena *arena, struct buffer *buffer, struct error *ret_error);

#endif
