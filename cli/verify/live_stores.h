/* SPDX-License-Identifier: Apache-2.0 */
/* Finds running services by the http.url files of their data directories and reads the digests of
 * their stores from them. */
#ifndef CLI_VERIFY_LIVE_STORES_H
#define CLI_VERIFY_LIVE_STORES_H

#include "base/error.h"
#include "cli/http_call.h"

#include <stdint.h>

enum { VERIFY_SERVICE_SIZE = 160 };

struct verify_live_store {
    char service[VERIFY_SERVICE_SIZE]; /* "scheduler vm-123-ab" */
    int32_t partition;
    bool deadlines; /* its digest covers the deadline index */
    int64_t next_event_offset;
    uint64_t orders;
    char digest[40];
};

struct verify_live {
    struct verify_live_store *stores; /* by service and partition */
    uint32_t count;
};

/* Services that have no stores, or have stopped, are passed over. RETRY when none answers; REJECT
 * "NotPermitted" when one refuses to. Directories that others can write get no token. */
enum error_class verify_live_read(const char *directory,
                                  const struct service_credentials *credentials,
                                  struct verify_live *live, struct error *ret_error);
void verify_live_free(struct verify_live *live);

#endif
