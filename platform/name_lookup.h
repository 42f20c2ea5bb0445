/* SPDX-License-Identifier: Apache-2.0 */
/* All addresses of a host name, found without blocking the loop: behind a name may be several
 * instances of a service. libcurl resolves names by itself, and connects to one of the addresses.
 *
 * A lookup takes as long as the system's resolver, maybe many seconds. It has a thread of its own,
 * which outlives a cancelled lookup. */
#ifndef PLATFORM_NAME_LOOKUP_H
#define PLATFORM_NAME_LOOKUP_H

#include "base/error.h"
#include "platform/loop.h"

#include <netinet/in.h>

enum { NAME_ADDRESSES_MAX = 64 };

struct name_addresses {
    char texts[NAME_ADDRESSES_MAX][INET6_ADDRSTRLEN]; /* ascending, each once */
    size_t count;
    char problem[128]; /* why there is none; "" = there are addresses */
};

struct name_lookup;

/* From the loop, once; the lookup is freed afterwards. Borrows `found` for the time of the call. */
typedef void (*name_lookup_done)(const struct name_addresses *found, void *userdata);

/* New; copies `name`. RETRY: there are no resources for it. */
enum error_class name_lookup_new(struct loop *loop, const char *name, name_lookup_done done,
                                 void *userdata, struct name_lookup **ret_lookup,
                                 struct error *ret_error);
/* Before its callback ran, which does not run then. NULL does nothing. */
void name_lookup_cancel(struct name_lookup *lookup);

#endif
