/* SPDX-License-Identifier: Apache-2.0 */
/* See marks.h. */
#include "services/agent/answers/marks.h"

struct request_mark request_mark_of(const struct step_request *request)
{
    return (struct request_mark){.claim_id = request->claim_id,
                                 .decision_offset = request->decision_offset,
                                 .order_version = request->order_version,
                                 .complete_by = request->complete_by};
}

enum mark_relation request_mark_compare(const struct request_mark *mark,
                                        const struct step_request *request)
{
    bool same_claim = memcmp(&mark->claim_id, &request->claim_id, sizeof(mark->claim_id)) == 0;
    if (mark->decision_offset == request->decision_offset)
        return same_claim ? MARK_SAME : MARK_OTHER;
    if (mark->decision_offset < request->decision_offset)
        return mark->order_version < request->order_version ? MARK_LATER : MARK_OTHER;
    return mark->order_version > request->order_version ? MARK_SAME : MARK_OTHER;
}
