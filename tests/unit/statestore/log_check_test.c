/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever bit of a record's header is flipped in RocksDB's logs, opening the store ends. RocksDB
 * alone would read some records again and again, for ever. */
#include "base/bytes.h"
#include "statestore/answers.h"
#include "statestore/log_check.h"
#include "tests/unit/statestore/kit_files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 32 * 1024,
    HEADER_BYTES = 7,
    TYPE_AT = 6,
    RECORD_FULL = 1,
    OPEN_SECONDS_MAX = 60,
    ANSWERS = 5,
    NOW = 1000000
};

/* ---- logs of stores ---- */

static struct kit_file *find_log(struct kit_files *files, const char *part)
{
    struct kit_file *found = NULL;
    for (int i = 0; i < files->count; i++) {
        struct kit_file *file = &files->files[i];
        if (strstr(file->name, part) != NULL && (found == NULL || file->size > found->size))
            found = file;
    }
    cr_assert(found != NULL && found->size > HEADER_BYTES);
    return found;
}

/* Where the header after the one at `at` is; the size where there is none. */
static size_t next_header(const struct kit_file *log, size_t at)
{
    const uint8_t *header = (const uint8_t *)log->bytes + at;
    size_t next = at + HEADER_BYTES + bytes_get_le(header + 4, 2);
    if (BLOCK_BYTES - next % BLOCK_BYTES < HEADER_BYTES)
        next += BLOCK_BYTES - next % BLOCK_BYTES;
    return next + HEADER_BYTES <= log->size ? next : log->size;
}

/* Tries each bit of the sizes and types, and one of each byte of the checksums, which treat the
 * eight alike. Returns the number of records. */
static int flip_headers(const char *path, struct kit_files *files, struct kit_file *log,
                        void (*try_open)(void *ctx, const char *path), void *ctx)
{
    int records = 0;
    for (size_t at = 0; at < log->size; at = next_header(log, at), records++) {
        for (int i = 0; i < HEADER_BYTES * 8; i++) {
            size_t byte = at + (size_t)i / 8;
            if (i < 4 * 8 && i % 9 != 0)
                continue;
            log->bytes[byte] = (char)(log->bytes[byte] ^ (1 << (i % 8)));
            kit_write_files(path, files);
            alarm(OPEN_SECONDS_MAX);
            try_open(ctx, path);
            alarm(0);
            log->bytes[byte] = (char)(log->bytes[byte] ^ (1 << (i % 8)));
        }
    }
    return records;
}

static void fold_two_flushes(struct store_env *env, const char *path)
{
    struct store *store = kit_open(env, path);
    for (int64_t n = 0; n < 20; n += 10) {
        kit_fold(store, n, n + 10, 10);
        cr_assert(store_flush(store, NULL) == ERROR_OK);
    }
    store_close(store);
}

static void try_store(void *ctx, const char *path)
{
    struct store_env *env = ctx;
    struct store *store = NULL;
    struct error error = {0};
    if (store_open(env, path, &store, &error) != ERROR_OK) {
        cr_assert_eq(error.code, CODE_STORE_CORRUPT, "%s", error.message);
        return;
    }
    cr_assert_geq(kit_verify(store), 0);
    store_close(store);
}

Test(statestore_log_check, a_store_opens_in_time_whatever_bit_of_a_header_is_flipped)
{
    const char *path = kit_path(kit_folder(), "s");
    struct store_env *env = kit_env();
    struct kit_files files = {0};
    fold_two_flushes(env, path);
    kit_read_files(path, &files);
    int records = flip_headers(path, &files, find_log(&files, "MANIFEST"), try_store, env);
    cr_assert_geq(records, 5);
    store_env_free(env);
}

static struct answers_key key_of(int64_t position)
{
    return (struct answers_key){.position = position, .name = TEXT("order/Pay")};
}

static enum error_class open_answers(const char *path, struct answers **ret_answers,
                                     struct error *ret_error)
{
    struct answers_options options = {.keep_ms = 1000, .bytes_max = 1 << 20};
    return answers_open(path, &options, NOW, ret_answers, ret_error);
}

static void write_answers(const char *path)
{
    struct answers *answers = NULL;
    struct error error = {0};
    cr_assert_eq(open_answers(path, &answers, &error), ERROR_OK, "%s", error.message);
    for (int64_t i = 0; i < ANSWERS; i++) {
        struct answers_key key = key_of(i);
        answers_put(answers, &key, TEXT("answer"));
        cr_assert_eq(answers_write(answers, NOW, &error), ERROR_OK, "%s", error.message);
    }
    answers_close(answers);
}

static void try_answers(void *ctx, const char *path)
{
    struct answers *answers = NULL;
    struct error error = {0};
    (void)ctx;
    if (open_answers(path, &answers, &error) != ERROR_OK) {
        cr_assert_eq(error.code, CODE_STORE_CORRUPT, "%s", error.message);
        return;
    }
    for (int64_t i = 0; i < ANSWERS; i++) {
        struct answers_key key = key_of(i);
        struct text value = {0};
        cr_assert_eq(answers_get(answers, &key, &value, &error), ERROR_OK, "%s", error.message);
        cr_assert(value.data == NULL || text_equal(value, TEXT("answer")));
        store_row_free(value);
    }
    answers_close(answers);
}

Test(statestore_log_check, answers_open_in_time_whatever_bit_of_a_header_is_flipped)
{
    const char *path = kit_path(kit_folder(), "answers");
    struct kit_files files = {0};
    write_answers(path);
    kit_read_files(path, &files);
    cr_assert_geq(flip_headers(path, &files, find_log(&files, "MANIFEST"), try_answers, NULL), 3);
    cr_assert_geq(flip_headers(path, &files, find_log(&files, ".log"), try_answers, NULL), ANSWERS);
}

/* ---- made-up logs ---- */

static void add_record(struct kit_file *log, uint8_t type, size_t payload)
{
    uint8_t *header = (uint8_t *)log->bytes + log->size;
    bytes_put_le(header + 4, payload, 2);
    header[TYPE_AT] = type;
    log->size += HEADER_BYTES + payload;
}

/* One that ends three blocks with less than a header. */
static struct kit_file *made_up_log(struct kit_files *files)
{
    struct kit_file *log = &files->files[0];
    files->count = 1;
    snprintf(log->name, sizeof(log->name), "MANIFEST-000005");
    log->bytes = kit_memory(4 * (size_t)BLOCK_BYTES);
    for (int block = 0; block < 3; block++) {
        add_record(log, RECORD_FULL, 1000);
        add_record(log, RECORD_FULL, BLOCK_BYTES - 1000 - 2 * HEADER_BYTES - 5);
        memset(log->bytes + log->size, 7, 5);
        log->size += 5;
    }
    return log;
}

static bool accepts(const struct kit_files *files)
{
    const char *path = kit_path(kit_folder(), "s");
    kit_write_files(path, files);
    return log_check_store(path);
}

Test(statestore_log_check, refuses_the_types_of_recycled_logs_in_any_block)
{
    for (int type = 0; type <= UINT8_MAX; type++) {
        struct kit_files files = {0};
        struct kit_file *log = made_up_log(&files);
        add_record(log, (uint8_t)type, 30);
        cr_assert_eq(accepts(&files), !((type >= 5 && type <= 8) || type == 11), "type %d", type);
    }
}

Test(statestore_log_check, leaves_an_end_that_is_cut_off_to_rocksdb)
{
    struct kit_files files = {0};
    struct kit_file *log = made_up_log(&files);
    add_record(log, RECORD_FULL, 30);
    size_t size = log->size;
    for (; log->size + 2 * HEADER_BYTES + 30 > size; log->size--)
        cr_assert(accepts(&files), "%zu of %zu bytes", log->size, size);
    log->size = size;
    add_record(log, RECORD_FULL, UINT16_MAX);
    log->size = size + HEADER_BYTES;
    cr_assert(accepts(&files));
    log->size = 0;
    cr_assert(accepts(&files));
}

Test(statestore_log_check, has_nothing_against_a_store_that_does_not_exist)
{
    cr_assert(log_check_store(kit_path(kit_folder(), "none")));
}
