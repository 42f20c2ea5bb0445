/* SPDX-License-Identifier: Apache-2.0 */
/* See answer_row.h. */
#include "services/agent/answers/answer_row.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <assert.h>

enum { ROW_VERSION = 1 };

struct row_head {
    uint8_t version;
    uint8_t accepted;
    uint8_t succeeded;
    uint8_t effect;
    uint8_t claim_id[16];
    int64_t decision_offset;
    uint64_t order_version;
    int64_t complete_by;
} __attribute__((packed));

_Static_assert(sizeof(struct uuid) == 16, "a claim id");
_Static_assert(sizeof(struct row_head) <= 64, "it fits into ANSWER_ROW_BYTES_MAX");

static void put_text(char **at, struct text text)
{
    *at = bytes_put_text(bytes_put_le(*at, text.size, 4), text);
}

struct text answer_row_write(const struct step_request *request,
                             const struct attempt_answer *answer, char memory[ANSWER_ROW_BYTES_MAX])
{
    struct row_head head = {
        .version = ROW_VERSION,
        .accepted = answer->accepted,
        .succeeded = answer->succeeded,
        .effect = (uint8_t)answer->effect,
        .decision_offset = request->decision_offset,
        .order_version = request->order_version,
        .complete_by = request->complete_by,
    };
    char *at = memory + sizeof(head);
    memcpy(head.claim_id, &request->claim_id, sizeof(head.claim_id));
    memcpy(memory, &head, sizeof(head));
    assert(answer->output.size <= REPORT_OUTPUT_BYTES_MAX);
    assert(answer->error_name.size <= ERROR_NAME_BYTES_MAX);
    assert(answer->error_message.size <= MESSAGE_BYTES_MAX);
    put_text(&at, answer->output);
    put_text(&at, answer->error_name);
    put_text(&at, answer->error_message);
    return (struct text){memory, (uint32_t)(at - memory)};
}

/* Borrowed from the row. */
static bool take_text(struct text *rest, uint32_t limit, struct text *ret_text)
{
    uint64_t size;
    if (!bytes_take_le(rest, 4, &size) || size > rest->size || size > limit)
        return false;
    *ret_text = (struct text){rest->data, (uint32_t)size};
    *rest = text_from(*rest, (uint32_t)size);
    return utf8_valid(*ret_text);
}

static bool is_outcome(const struct row_head *head, struct text error_name)
{
    if (head->accepted > 1 || head->succeeded > 1 || head->effect >= EFFECT_COUNT)
        return false;
    if (head->accepted || head->succeeded)
        return head->accepted != head->succeeded; /* the name is of an earlier try */
    return error_name_valid(error_name);
}

bool answer_row_read(struct text row, const struct step_request *request, struct arena *arena,
                     struct attempt_answer *ret_answer, bool *ret_known)
{
    struct row_head head;
    struct text rest = row;
    struct text output, error_name, error_message;
    if (row.size < sizeof(head))
        return false;
    memcpy(&head, row.data, sizeof(head));
    rest = text_from(row, sizeof(head));
    if (head.version != ROW_VERSION || !take_text(&rest, REPORT_OUTPUT_BYTES_MAX, &output) ||
        !take_text(&rest, ERROR_NAME_BYTES_MAX, &error_name) ||
        !take_text(&rest, MESSAGE_BYTES_MAX, &error_message) || rest.size > 0 ||
        !is_outcome(&head, error_name))
        return false;
    struct attempt_decision decision = {.offset = head.decision_offset,
                                        .order_version = head.order_version};
    memcpy(&decision.claim_id, head.claim_id, sizeof(head.claim_id));
    *ret_known = attempt_decision_compare(&decision, request) != DECISION_OF_ANOTHER_LOG;
    if (!*ret_known)
        return true;
    *ret_answer = (struct attempt_answer){
        .accepted = head.accepted != 0,
        .succeeded = head.succeeded != 0,
        .effect = (enum effect)head.effect,
        .output = arena_text(arena, output),
        .error_name = arena_text(arena, error_name),
        .error_message = arena_text(arena, error_message),
    };
    return true;
}
