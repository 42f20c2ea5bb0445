/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/fences.h"

enum {
    /* Unexplained fences within that time mean that another process has the same instance.id. Each
     * of the two notices at its next heartbeat. */
    FENCES_MAX = 3,
    FENCES_MS = 60000,
    FENCES_SESSIONS = 2 /* at least */
};

void fences_session_ended(struct fences *fences)
{
    fences->session_ended = true;
}

bool fences_joins_again(struct fences *fences, int64_t now_ms, int64_t session_timeout_ms)
{
    int64_t sessions_ms = FENCES_SESSIONS * session_timeout_ms;
    int64_t window_ms = sessions_ms > FENCES_MS ? sessions_ms : FENCES_MS;
    if (fences->session_ended) {
        fences->session_ended = false;
        return true;
    }
    if (fences->count == 0 || now_ms - fences->since_ms > window_ms) {
        fences->count = 0;
        fences->since_ms = now_ms;
    }
    return ++fences->count < FENCES_MAX;
}
