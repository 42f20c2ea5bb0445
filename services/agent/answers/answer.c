/* SPDX-License-Identifier: Apache-2.0 */
/* See answer.h. */
#include "services/agent/answers/answer.h"

struct attempt_decision attempt_decision_of(const struct step_request *request)
{
    return (struct attempt_decision){.claim_id = request->claim_id,
                                     .offset = request->decision_offset,
                                     .order_version = request->order_version};
}

enum decision_relation attempt_decision_compare(const struct attempt_decision *known,
                                                const struct step_request *request)
{
    bool same_claim = memcmp(&known->claim_id, &request->claim_id, sizeof(known->claim_id)) == 0;
    if (known->offset == request->decision_offset)
        return same_claim ? DECISION_SAME : DECISION_OF_ANOTHER_LOG;
    bool later = known->offset < request->decision_offset;
    bool grew = later ? known->order_version < request->order_version
                      : known->order_version > request->order_version;
    if (!grew)
        return DECISION_OF_ANOTHER_LOG;
    return later ? DECISION_LATER : DECISION_SAME;
}
