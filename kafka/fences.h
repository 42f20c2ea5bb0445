/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a static member that is fenced joins its group again.
 *
 * It may have been fenced by its own earlier membership: by a request of that one, late, after its
 * session had ended and it had joined again (Kafka fences a request with a member id that is not
 * the newest of its instance id). Or another process has the same instance id: then the two fence
 * each other whenever either joins, and the one that is fenced again and again must give up. So a
 * fence that follows the end of a session is expected, however many outages there are, and only the
 * others count. */
#ifndef KAFKA_FENCES_H
#define KAFKA_FENCES_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. */
struct fences {
    bool session_ended; /* after the last fence: it explains one */
    uint32_t count;     /* of the others, since: */
    int64_t since_ms;
};

/* The client learns that its session has ended, without having been fenced. */
void fences_session_ended(struct fences *fences);
/* The member is fenced, at a monotonic time. False: another process has its instance id. */
bool fences_joins_again(struct fences *fences, int64_t now_ms, int64_t session_timeout_ms);

#endif
