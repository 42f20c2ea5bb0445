/* SPDX-License-Identifier: Apache-2.0 */
/* GET /stores: the name of the service and of its instance, and what its live stores hold, for
 * `reeve verify`: partition, the offset up to which they are folded, and the digest there.
 * Computing a digest reads the whole store while the loop waits, so it is done at most once a
 * second, and takes at most a tenth of the time; meanwhile the answer is the last digest with its
 * offset. */
#ifndef REPLICA_SERVICE_VIEW_REPORT_H
#define REPLICA_SERVICE_VIEW_REPORT_H

#include "replica/fold/view.h"
#include "replica/service/service.h"

struct view_report;

/* GET /stores. */
extern const struct http_routes view_report_routes;

/* New. `each` calls view_report_add for every open partition. `deadlines`: the stores keep the
 * deadline index. `service` is borrowed for as long as its HTTP server lives. */
struct view_report *view_report_route(const struct service_context *service, bool deadlines,
                                      void (*each)(void *ctx, struct view_report *report),
                                      void *ctx);
/* Once no request comes any more. NULL does nothing. */
void view_report_free(struct view_report *report);
void view_report_add(struct view_report *report, int32_t partition, struct view *view);

/* For tests: whether any reader that has folded as much holds the same: neither are orders still to
 * be stated, nor is the log folded again up to a Reset that skips a part of it. */
bool view_report_holds(const struct view *view);

enum { DIGEST_TEXT_SIZE = 33 };
void digest_text(const struct content_hash *digest, char ret_text[DIGEST_TEXT_SIZE]);

#endif
