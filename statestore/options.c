/* SPDX-License-Identifier: Apache-2.0 */
/* How the stores of a process use RocksDB, and what they share.
 *
 * Many small databases in one process: what multiplies is bounded here. One cache for blocks,
 * indexes and filters; memtables as shares of one sum; two threads in all; few open files; a
 * quiet log. */
#include "statestore/store_internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
    BLOOM_BITS_PER_KEY = 10,
    TABLE_FORMAT = 5,
    CHECKSUM_XXH3 = 4,    /* rocksdb::kXXH3 */
    LOG_LEVEL_HEADER = 5, /* above all others */
    OPEN_FILES_MAX = 64,
    BACKGROUND_THREADS = 2,
    OPENING_THREADS = 1, /* by default 15 are started for each family, even for one table */
    CACHE_SHARD_BITS = 1,
    STORES_EXPECTED = 4, /* the first ones get shares as if there were this many */
    ARENA_BLOCK_BYTES = 64 * 1024,
    TABLES_COMPACTED = 4,
    TABLES_COMPACTED_ORDERS = 12,
    TABLES_COMPACTED_MUCH = 40,
    TABLES_SLOW = 60, /* a fold may make tables faster than the one thread merges them */
    TABLES_STOP = 80,
    TOMBSTONE_WINDOW = 16 * 1024, /* of this many keys in a row, half deleted: compact */
};
#define MEMTABLE_BLOOM_SHARE 0.02
#define STORE_BUFFER_BYTES_MIN (UINT64_C(2) << 20)
#define TABLE_BYTES (UINT64_C(32) << 20)
#define MANIFEST_STEP_BYTES ((size_t)64 << 10) /* by default 4 MiB are set aside at each opening */

const char *const store_family_names[FAMILY_COUNT] = {
    [FAMILY_DEFAULT] = "default", [FAMILY_ORDERS] = "orders", [FAMILY_DEADLINES] = "deadlines",
    [FAMILY_HISTORY] = "history", [FAMILY_INDEX] = "index",   [FAMILY_META] = "meta",
};

/* Few shards: by default there would be enough that the filter of one table nearly fills one, and
 * each get would read it again (77 us instead of 4). One thread reads, two write. */
static rocksdb_cache_t *new_cache(uint64_t bytes)
{
    rocksdb_lru_cache_options_t *options = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(options, bytes);
    rocksdb_lru_cache_options_set_num_shard_bits(options, CACHE_SHARD_BITS);
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_opts(options);
    rocksdb_lru_cache_options_destroy(options);
    return cache;
}

struct store_env *store_env_new(const struct store_options *options)
{
    assert(options->cache_bytes > 0 && options->write_buffer_bytes > 0);
    struct store_env *env = calloc(1, sizeof(*env));
    assert(env != NULL);
    env->rocks = rocksdb_create_default_env();
    rocksdb_env_set_background_threads(env->rocks, BACKGROUND_THREADS - 1);
    rocksdb_env_set_high_priority_background_threads(env->rocks, 1);
    env->cache = new_cache(options->cache_bytes);
    env->write_buffer_bytes = options->write_buffer_bytes;
    return env;
}

void store_env_free(struct store_env *env)
{
    if (env == NULL)
        return;
    assert(env->open_stores == 0);
    rocksdb_cache_destroy(env->cache);
    rocksdb_env_destroy(env->rocks);
    free(env);
}

/* The C API of RocksDB 7.8 has no write buffer manager for several databases, so each gets a
 * share when it is opened: of n stores the n-th gets 1/n. Together that is at most twice the sum
 * for 12 stores. */
static uint64_t buffer_share(const struct store_env *env, uint32_t stores)
{
    uint64_t share =
        env->write_buffer_bytes / (stores > STORES_EXPECTED ? stores : STORES_EXPECTED);
    return share > STORE_BUFFER_BYTES_MIN ? share : STORE_BUFFER_BYTES_MIN;
}

static void set_table_options(rocksdb_options_t *options, struct store_env *env, bool bloom)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, env->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_format_version(table, TABLE_FORMAT);
    rocksdb_block_based_options_set_checksum(table, CHECKSUM_XXH3);
    rocksdb_block_based_options_set_block_size(table, (size_t)8 * 1024);
    if (bloom)
        rocksdb_block_based_options_set_filter_policy(
            table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS_PER_KEY));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

/* The writer of the information log (the file LOG) asserts that none of its earlier writes failed.
 * So after a disk has refused one, the next line aborts the process: when a failed store is closed,
 * at the latest (RocksDB 7.8; 8.3 removed the assertion). The C API cannot replace or omit that
 * log, but at this level the file stays empty: its header is written at level INFO. That takes a
 * log that is not rolled, as a rolled one writes its header whatever the level: no maximum size. */
void store_options_silence(rocksdb_options_t *options)
{
    rocksdb_options_set_info_log_level(options, LOG_LEVEL_HEADER);
    rocksdb_options_set_max_log_file_size(options, 0);
    rocksdb_options_set_keep_log_file_num(options, 1);
}

/* What the C API has no function for. Closing does not flush, so that it leaves what a crash
 * would. */
static rocksdb_options_t *new_options(void)
{
    rocksdb_options_t *base = rocksdb_options_create();
    rocksdb_options_t *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_get_options_from_string(base, "avoid_flush_during_shutdown=true", options, &message);
    assert(message == NULL);
    rocksdb_options_destroy(base);
    return options;
}

rocksdb_options_t *store_options_new(struct store_env *env, uint32_t stores)
{
    rocksdb_options_t *options = new_options();
    rocksdb_options_set_env(options, env->rocks);
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_create_missing_column_families(options, 1);
    rocksdb_options_set_paranoid_checks(options, 1);
    /* All families reach the disk together or not at all: a crash leaves rows and checkpoint of one
     * and the same moment. */
    rocksdb_options_set_atomic_flush(options, 1);
    /* A write-ahead log is one of an earlier version: all of it, or the store is folded again. */
    rocksdb_options_set_wal_recovery_mode(options, rocksdb_absolute_consistency_recovery);
    rocksdb_options_set_db_write_buffer_size(options, buffer_share(env, stores));
    rocksdb_options_set_max_background_jobs(options, BACKGROUND_THREADS);
    rocksdb_options_set_max_open_files(options, OPEN_FILES_MAX);
    rocksdb_options_set_max_file_opening_threads(options, OPENING_THREADS);
    rocksdb_options_set_manifest_preallocation_size(options, MANIFEST_STEP_BYTES);
    rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
    store_options_silence(options);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    return options;
}

/* Where orders expire, each new table has rows of new orders and tombstones of old ones, so that a
 * compaction rewrites all of the next level. With 12 tables instead of 4, compactions and flushes
 * take 3.5 us of CPU an order instead of 5.1; 1.4 while none expires (bench-expiry). Filters say
 * which table has an order; the other families are scanned, where each table costs. A long fold
 * lets more tables pile up first: the next level is small. */
int store_tables_compacted(enum family family, bool much)
{
    if (much)
        return TABLES_COMPACTED_MUCH;
    return family == FAMILY_ORDERS ? TABLES_COMPACTED_ORDERS : TABLES_COMPACTED;
}

rocksdb_options_t *store_options_new_of_family(struct store_env *env, uint32_t stores,
                                               enum family family)
{
    rocksdb_options_t *options = store_options_new(env, stores);
    rocksdb_options_set_write_buffer_size(options, buffer_share(env, stores));
    rocksdb_options_set_arena_block_size(options, ARENA_BLOCK_BYTES);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_target_file_size_base(options, TABLE_BYTES);
    rocksdb_options_set_level0_file_num_compaction_trigger(options,
                                                           store_tables_compacted(family, false));
    rocksdb_options_set_level0_slowdown_writes_trigger(options, TABLES_SLOW);
    rocksdb_options_set_level0_stop_writes_trigger(options, TABLES_STOP);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    if (family == FAMILY_DEADLINES || family == FAMILY_INDEX)
        rocksdb_options_add_compact_on_deletion_collector_factory(options, TOMBSTONE_WINDOW,
                                                                  TOMBSTONE_WINDOW / 2);
    /* Most orders that are looked up are new: no walk through the memtable for them. */
    if (family == FAMILY_ORDERS) {
        rocksdb_options_set_memtable_whole_key_filtering(options, 1);
        rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, MEMTABLE_BLOOM_SHARE);
    }
    /* Only orders are looked up one by one; the others are scanned. */
    set_table_options(options, env, family == FAMILY_ORDERS);
    return options;
}
