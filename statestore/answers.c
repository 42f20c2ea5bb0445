/* SPDX-License-Identifier: Apache-2.0 */
/* See answers.h. */
#include "statestore/answers.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "statestore/answers_series.h"
#include "statestore/seal.h"
#include "statestore/store_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SEAL_FAMILY = 100, /* no family of the other stores */
    BLOOM_BITS = 10,
    BACKGROUND_JOBS = 2,
    OPEN_FILES = 64,
    NAME_SIZE = 32,
    FOUND_MAX = 64, /* families of a store that is still ours */
    KEY_HEAD_BYTES = 16 + 8,
    KEY_BYTES_MAX = KEY_HEAD_BYTES + ANSWERS_NAME_BYTES_MAX
};
#define CACHE_BYTES ((size_t)8 << 20)
#define BUFFER_BYTES ((size_t)8 << 20)
#define WAL_BYTES_MAX (UINT64_C(64) << 20)
#define BLOOM_SHARE 0.02

struct slice {
    int64_t begin;
    uint64_t bytes;
    rocksdb_column_family_handle_t *family;
};

struct answers {
    struct answers_options options;
    char *path;
    rocksdb_t *db;
    rocksdb_options_t *rocks; /* of the store and of its slices */
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
    rocksdb_writebatch_t *batch;
    rocksdb_column_family_handle_t *fallback; /* "default": RocksDB insists; empty */
    struct slice slices[FOUND_MAX];           /* the oldest first */
    uint32_t count;
    uint64_t batch_bytes;
    uint64_t dropped_early;
    uint64_t lookups;
    struct answers_series_table series;
};

static enum error_class fail(const struct answers *answers, const char *doing, char *message,
                             struct error *ret_error)
{
    return store_fail(answers->path, doing, message, ret_error);
}

/* ---- options ---- */

static void set_table_options(struct answers *answers)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    answers->cache = rocksdb_cache_create_lru(CACHE_BYTES);
    rocksdb_block_based_options_set_block_cache(table, answers->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_options_set_block_based_table_factory(answers->rocks, table);
    rocksdb_block_based_options_destroy(table);
}

static void make_options(struct answers *answers)
{
    rocksdb_options_t *rocks = rocksdb_options_create();
    answers->rocks = rocks;
    rocksdb_options_set_create_if_missing(rocks, 1);
    rocksdb_options_set_paranoid_checks(rocks, 1);
    /* Each answer stands for itself, and is sealed: what is damaged is lost, the others are not. */
    rocksdb_options_set_wal_recovery_mode(rocks, rocksdb_skip_any_corrupted_records_recovery);
    rocksdb_options_set_write_buffer_size(rocks, BUFFER_BYTES);
    rocksdb_options_set_db_write_buffer_size(rocks, 2 * BUFFER_BYTES);
    rocksdb_options_set_max_total_wal_size(rocks, WAL_BYTES_MAX);
    rocksdb_options_set_compression(rocks, rocksdb_lz4_compression);
    /* Rows are never deleted one by one, and most of them never read: as few rewrites as can be. */
    rocksdb_options_set_compaction_style(rocks, rocksdb_universal_compaction);
    /* Nearly every request is new: that its answer is not there must cost next to nothing. */
    rocksdb_options_set_memtable_whole_key_filtering(rocks, 1);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(rocks, BLOOM_SHARE);
    rocksdb_options_set_max_background_jobs(rocks, BACKGROUND_JOBS);
    rocksdb_options_set_max_open_files(rocks, OPEN_FILES);
    rocksdb_options_set_skip_stats_update_on_db_open(rocks, 1);
    store_options_silence(rocks);
    rocksdb_options_set_stats_dump_period_sec(rocks, 0);
    rocksdb_options_set_stats_persist_period_sec(rocks, 0);
    set_table_options(answers);
}

/* ---- slices ---- */

static enum error_class add_slice(struct answers *answers, int64_t now, struct error *ret_error)
{
    char name[NAME_SIZE];
    char *message = NULL;
    assert(answers->count < FOUND_MAX);
    /* A clock that went back, or two slices in one millisecond: names stay different and rise. */
    int64_t begin = now;
    if (answers->count > 0 && begin <= answers->slices[answers->count - 1].begin)
        begin = answers->slices[answers->count - 1].begin + 1;
    snprintf(name, sizeof(name), "s%" PRId64, begin);
    rocksdb_column_family_handle_t *family =
        rocksdb_create_column_family(answers->db, answers->rocks, name, &message);
    if (message != NULL)
        return fail(answers, "extend", message, ret_error);
    answers->slices[answers->count++] = (struct slice){.begin = begin, .family = family};
    return ERROR_OK;
}

static enum error_class drop_oldest(struct answers *answers, struct error *ret_error)
{
    char *message = NULL;
    assert(answers->count > 0);
    rocksdb_drop_column_family(answers->db, answers->slices[0].family, &message);
    if (message != NULL)
        return fail(answers, "shorten", message, ret_error);
    rocksdb_column_family_handle_destroy(answers->slices[0].family);
    answers->count--;
    memmove(answers->slices, answers->slices + 1, answers->count * sizeof(struct slice));
    return ERROR_OK;
}

/* The newest row of the oldest slice is older than keep_ms. */
static bool oldest_is_over(const struct answers *answers, int64_t now)
{
    return answers->count > 1 && answers->slices[1].begin + answers->options.keep_ms <= now;
}

static enum error_class tidy(struct answers *answers, int64_t now, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    const struct slice *newest = answers->count > 0 ? &answers->slices[answers->count - 1] : NULL;
    bool wanted = newest == NULL ||
                  newest->bytes >= answers->options.bytes_max / ANSWERS_SLICES_MAX ||
                  newest->begin + answers->options.keep_ms / (ANSWERS_SLICES_MAX - 2) <= now;
    /* A slice that is still empty may also begin later. */
    if (wanted)
        class = add_slice(answers, now, ret_error);
    while (class == ERROR_OK && oldest_is_over(answers, now))
        class = drop_oldest(answers, ret_error);
    while (class == ERROR_OK && answers->count > ANSWERS_SLICES_MAX) {
        answers->dropped_early++;
        class = drop_oldest(answers, ret_error);
    }
    return class;
}

/* ---- opening and closing ---- */

static void take_family(struct answers *answers, const char *name,
                        rocksdb_column_family_handle_t *family)
{
    if (name[0] != 's') {
        answers->fallback = family;
        return;
    }
    struct slice slice = {.family = family};
    number_parse(text_of(name + 1), INT64_MIN, INT64_MAX, &slice.begin);
    uint64_t tables = 0, memory = 0;
    rocksdb_property_int_cf(answers->db, family, "rocksdb.total-sst-files-size", &tables);
    rocksdb_property_int_cf(answers->db, family, "rocksdb.cur-size-all-mem-tables", &memory);
    slice.bytes = tables + memory;
    uint32_t at = answers->count++;
    while (at > 0 && answers->slices[at - 1].begin > slice.begin) {
        answers->slices[at] = answers->slices[at - 1];
        at--;
    }
    answers->slices[at] = slice;
}

static enum error_class open_families(struct answers *answers, char **names, size_t count,
                                      struct error *ret_error)
{
    const rocksdb_options_t *options[FOUND_MAX] = {NULL};
    rocksdb_column_family_handle_t *families[FOUND_MAX];
    char *message = NULL;
    if (count >= FOUND_MAX)
        return error_set(ret_error, CODE_STORE_CORRUPT, "the store %s has %zu column families",
                         answers->path, count);
    for (size_t i = 0; i < count; i++)
        options[i] = answers->rocks;
    answers->db =
        rocksdb_open_column_families(answers->rocks, answers->path, (int)count,
                                     (const char *const *)names, options, families, &message);
    if (message != NULL)
        return fail(answers, "open", message, ret_error);
    for (size_t i = 0; i < count; i++)
        take_family(answers, names[i], families[i]);
    return ERROR_OK;
}

static bool exists(const char *path)
{
    char *file = NULL;
    int size = asprintf(&file, "%s/CURRENT", path);
    assert(size > 0);
    bool there = access(file, F_OK) == 0;
    free(file);
    return there;
}

static enum error_class open_rocks(struct answers *answers, struct error *ret_error)
{
    char fallback[] = "default";
    char *first = fallback;
    char *message = NULL;
    size_t count = 0;
    if (!exists(answers->path))
        return open_families(answers, &first, 1, ret_error);
    char **names = rocksdb_list_column_families(answers->rocks, answers->path, &count, &message);
    if (message != NULL) {
        rocksdb_list_column_families_destroy(names, count); /* it is there, and empty */
        return fail(answers, "open", message, ret_error);
    }
    enum error_class class = open_families(answers, names, count, ret_error);
    rocksdb_list_column_families_destroy(names, count);
    return class;
}

static enum error_class open_checked(struct answers *answers, int64_t now, struct error *ret_error)
{
    const char *damage = store_files_damage(answers->path);
    if (damage != NULL)
        return error_set(ret_error, CODE_STORE_CORRUPT, "the store %s has %s", answers->path,
                         damage);
    make_options(answers);
    enum error_class class = open_rocks(answers, ret_error);
    return class == ERROR_OK ? tidy(answers, now, ret_error) : class;
}

enum error_class answers_open(const char *path, const struct answers_options *options, int64_t now,
                              struct answers **ret_answers, struct error *ret_error)
{
    assert(options->keep_ms > 0 && options->bytes_max > 0);
    struct answers *answers = calloc(1, sizeof(*answers));
    assert(answers != NULL);
    answers->options = *options;
    answers->path = strdup(path);
    assert(answers->path != NULL);
    answers->write = rocksdb_writeoptions_create();
    answers->read = rocksdb_readoptions_create();
    answers->batch = rocksdb_writebatch_create();
    enum error_class class = open_checked(answers, now, ret_error);
    if (class != ERROR_OK) {
        answers_close(answers);
        return class;
    }
    *ret_answers = answers;
    return ERROR_OK;
}

void answers_close(struct answers *answers)
{
    if (answers == NULL)
        return;
    answers_series_clear(&answers->series);
    rocksdb_writebatch_destroy(answers->batch);
    rocksdb_readoptions_destroy(answers->read);
    rocksdb_writeoptions_destroy(answers->write);
    for (uint32_t i = 0; i < answers->count; i++)
        rocksdb_column_family_handle_destroy(answers->slices[i].family);
    if (answers->fallback != NULL)
        rocksdb_column_family_handle_destroy(answers->fallback);
    if (answers->db != NULL)
        rocksdb_close(answers->db);
    if (answers->rocks != NULL) {
        rocksdb_options_destroy(answers->rocks);
        rocksdb_cache_destroy(answers->cache);
    }
    free(answers->path);
    free(answers);
}

/* ---- keys ---- */

static void write_head(const struct uuid *series, int64_t position, char at[KEY_HEAD_BYTES])
{
    memcpy(at, series->bytes, sizeof(series->bytes));
    bytes_put_rising(at + sizeof(series->bytes), position);
}

static struct text write_key(const struct answers_key *key, char memory[KEY_BYTES_MAX])
{
    assert(key->name.size <= ANSWERS_NAME_BYTES_MAX);
    write_head(&key->series, key->position, memory);
    if (key->name.size > 0)
        memcpy(memory + KEY_HEAD_BYTES, key->name.data, key->name.size);
    return (struct text){memory, KEY_HEAD_BYTES + key->name.size};
}

/* Of a key of this series; INT64_MIN: it is of another one. */
static int64_t read_position(const char *key, size_t size, const struct uuid *series)
{
    if (size < KEY_HEAD_BYTES || memcmp(key, series->bytes, sizeof(series->bytes)) != 0)
        return INT64_MIN;
    return bytes_get_rising(key + sizeof(series->bytes));
}

/* ---- the highest positions ---- */

/* Of one slice, without what was put and not written. */
static enum error_class highest_in(struct answers *answers, const struct slice *slice,
                                   const struct uuid *series, int64_t *ret_position,
                                   struct error *ret_error)
{
    char behind[KEY_HEAD_BYTES + 1];
    char *message = NULL;
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(answers->db, answers->read, slice->family);
    write_head(series, INT64_MAX, behind);
    behind[KEY_HEAD_BYTES] = '\xff'; /* no name begins with it */
    rocksdb_iter_seek_for_prev(it, behind, sizeof(behind));
    *ret_position = INT64_MIN;
    if (rocksdb_iter_valid(it)) {
        size_t size = 0;
        const char *key = rocksdb_iter_key(it, &size);
        *ret_position = read_position(key, size, series);
    }
    rocksdb_iter_get_error(it, &message);
    rocksdb_iter_destroy(it);
    return message == NULL ? ERROR_OK : fail(answers, "read", message, ret_error);
}

static enum error_class load_series(struct answers *answers, struct answers_series *series,
                                    struct error *ret_error)
{
    if (series->loaded)
        return ERROR_OK;
    for (uint32_t i = 0; i < answers->count; i++) {
        int64_t position;
        enum error_class class =
            highest_in(answers, &answers->slices[i], &series->id, &position, ret_error);
        if (class != ERROR_OK)
            return class;
        if (position > series->highest)
            series->highest = position;
    }
    series->loaded = true;
    return ERROR_OK;
}

/* ---- rows ---- */

static enum error_class look_up(struct answers *answers, struct text key, struct text *ret_value,
                                struct error *ret_error)
{
    answers->lookups++;
    for (uint32_t i = answers->count; i > 0; i--) {
        char *message = NULL;
        size_t size = 0;
        struct text value;
        char *sealed = rocksdb_get_cf(answers->db, answers->read, answers->slices[i - 1].family,
                                      key.data, key.size, &size, &message);
        if (message != NULL)
            return fail(answers, "read", message, ret_error);
        if (sealed == NULL)
            continue;
        if (!seal_open(SEAL_FAMILY, key, (struct text){sealed, (uint32_t)size}, &value)) {
            rocksdb_free(sealed);
            return error_set(ret_error, CODE_STORE_CORRUPT,
                             "the store %s has an answer that does not match its hash",
                             answers->path);
        }
        assert(value.data == sealed);
        *ret_value = value;
        return ERROR_OK;
    }
    *ret_value = (struct text){0};
    return ERROR_OK;
}

enum error_class answers_get(struct answers *answers, const struct answers_key *key,
                             struct text *ret_value, struct error *ret_error)
{
    char memory[KEY_BYTES_MAX];
    struct answers_series *series = answers_series_get(&answers->series, &key->series);
    enum error_class class = load_series(answers, series, ret_error);
    if (class != ERROR_OK)
        return class;
    if (key->position > series->highest) {
        *ret_value = (struct text){0};
        return ERROR_OK;
    }
    return look_up(answers, write_key(key, memory), ret_value, ret_error);
}

void answers_put(struct answers *answers, const struct answers_key *row, struct text value)
{
    char memory[KEY_BYTES_MAX];
    uint8_t seal[SEAL_BYTES];
    struct text key = write_key(row, memory);
    struct answers_series *series = answers_series_get(&answers->series, &row->series);
    assert(answers->count > 0);
    if (row->position > series->highest)
        series->highest = row->position;
    seal_make(SEAL_FAMILY, key, value, seal);
    const char *keys[] = {key.data};
    const size_t key_sizes[] = {key.size};
    const char *values[] = {value.data != NULL ? value.data : "", (const char *)seal};
    const size_t value_sizes[] = {value.size, SEAL_BYTES};
    rocksdb_writebatch_putv_cf(answers->batch, answers->slices[answers->count - 1].family, 1, keys,
                               key_sizes, 2, values, value_sizes);
    answers->batch_bytes += key.size + value.size + SEAL_BYTES;
}

enum error_class answers_write(struct answers *answers, int64_t now, struct error *ret_error)
{
    char *message = NULL;
    rocksdb_write(answers->db, answers->write, answers->batch, &message);
    rocksdb_writebatch_clear(answers->batch);
    answers->slices[answers->count - 1].bytes += answers->batch_bytes;
    answers->batch_bytes = 0;
    if (message != NULL)
        return fail(answers, "write", message, ret_error);
    if (answers->series.count > ANSWERS_SERIES_MAX) /* all that was put is in the store */
        answers_series_clear(&answers->series);
    return tidy(answers, now, ret_error);
}

/* ---- figures ---- */

uint64_t answers_lookups(const struct answers *answers)
{
    return answers->lookups;
}

uint64_t answers_bytes(const struct answers *answers)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < answers->count; i++)
        bytes += answers->slices[i].bytes;
    return bytes;
}

uint32_t answers_slices(const struct answers *answers)
{
    return answers->count;
}

uint64_t answers_dropped_early(const struct answers *answers)
{
    return answers->dropped_early;
}
