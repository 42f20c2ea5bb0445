/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/stores.h"

static uint64_t megabytes(const struct config *config, const char *key)
{
    return (uint64_t)config_int(config, key) << 20;
}

struct store_env *stores_new(const struct config *config)
{
    struct store_options options = {.cache_bytes = megabytes(config, "rocksdb.cache.mb"),
                                    .write_buffer_bytes =
                                        megabytes(config, "rocksdb.write.buffer.mb")};
    return store_env_new(&options);
}
