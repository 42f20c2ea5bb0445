/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores of a process share, as its configuration wants it. */
#ifndef REPLICA_SERVICE_STORES_H
#define REPLICA_SERVICE_STORES_H

#include "platform/config/config.h"
#include "statestore/store.h"

/* New; freed with store_env_free(). By rocksdb.cache.mb and rocksdb.write.buffer.mb. */
struct store_env *stores_new(const struct config *config);

#endif
