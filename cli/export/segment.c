/* SPDX-License-Identifier: Apache-2.0 */
/* See segment.h. */
#include "cli/export/segment.h"

#include "cli/export/container.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENT_BYTES_MAX = 256 << 20 };

struct segment {
    const struct segment_series *series;
    int64_t first;
    FILE *out;
    struct container *container; /* EXPORT_AVRO */
    uint64_t records;
    uint64_t bytes; /* before compression */
    char partial[PATH_MAX];
};

static const char *const extensions[] = {[EXPORT_AVRO] = "avro", [EXPORT_JSONL] = "jsonl"};

static enum error_class fail(struct error *ret_error, const char *what, const char *path)
{
    return error_set(ret_error, CODE_EXPORT_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Zeros in front, so that names sort by offset. */
static void prefix_of(const struct segment_series *series, char ret_prefix[64])
{
    assert(series->partition >= 0 && series->partition < EXPORT_PARTITIONS_MAX);
    snprintf(ret_prefix, 64, "%s-%05d-", series->what, series->partition);
}

/* ---- what is there ---- */

struct range {
    int64_t first;
    int64_t next;
};

/* Digits up to `end`, which ends them. False: something else. */
static bool read_offset(const char **at, char end, int64_t *ret_offset)
{
    char *stop = NULL;
    errno = 0;
    if (**at < '0' || **at > '9')
        return false;
    *ret_offset = strtoll(*at, &stop, 10);
    if (errno != 0 || *stop != end)
        return false;
    *at = stop + 1;
    return true;
}

/* False: the name is not that of a complete file of the series. */
static bool read_name(const struct segment_series *series, const char *name,
                      struct range *ret_range)
{
    char prefix[64];
    prefix_of(series, prefix);
    const char *at = name + strlen(prefix);
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    return read_offset(&at, '-', &ret_range->first) && read_offset(&at, '.', &ret_range->next) &&
           strcmp(at, extensions[series->format]) == 0 && ret_range->first < ret_range->next;
}

static bool is_partial(const struct segment_series *series, const char *name)
{
    char prefix[64];
    size_t size = strlen(name);
    prefix_of(series, prefix);
    return strncmp(name, prefix, strlen(prefix)) == 0 && size > 8 &&
           strcmp(name + size - 8, ".partial") == 0;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *left = a;
    const struct range *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static void add_range(struct range **ranges, size_t *count, struct range range)
{
    if ((*count & (*count - 1)) == 0) { /* a power of two, or nothing yet */
        *ranges = realloc(*ranges, sizeof(**ranges) * (*count == 0 ? 1 : 2 * *count));
        assert(*ranges != NULL);
    }
    (*ranges)[(*count)++] = range;
}

static enum error_class list(const struct segment_series *series, struct range **ret_ranges,
                             size_t *ret_count, struct error *ret_error)
{
    struct dirent *entry;
    DIR *directory = opendir(series->directory);
    if (directory == NULL)
        return fail(ret_error, "read", series->directory);
    while ((entry = readdir(directory)) != NULL) {
        struct range range;
        if (read_name(series, entry->d_name, &range))
            add_range(ret_ranges, ret_count, range);
        else if (is_partial(series, entry->d_name))
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
    return ERROR_OK;
}

enum error_class segment_series_end(const struct segment_series *series, int64_t *ret_first,
                                    int64_t *ret_next, struct error *ret_error)
{
    struct range *ranges = NULL;
    size_t count = 0;
    enum error_class class = list(series, &ranges, &count, ret_error);
    if (count > 1)
        qsort(ranges, count, sizeof(*ranges), compare_ranges);
    for (size_t i = 1; i < count && class == ERROR_OK; i++)
        if (ranges[i].first != ranges[i - 1].next)
            class = error_set(ret_error, CODE_FILE_MISSING,
                              "%s: partition %d has a file up to offset %" PRId64
                              " and the next one from %" PRId64
                              ": put the missing file back, or export into another directory",
                              series->directory, series->partition, ranges[i - 1].next,
                              ranges[i].first);
    if (class == ERROR_OK) {
        *ret_first = count > 0 ? ranges[0].first : -1;
        *ret_next = count > 0 ? ranges[count - 1].next : -1;
    }
    free(ranges);
    return class;
}

/* ---- writing one ---- */

/* Orders are not for everyone to read. NULL with errno. */
static FILE *create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

enum error_class segment_open(const struct segment_series *series, int64_t first,
                              struct segment **ret_segment, struct error *ret_error)
{
    char prefix[64];
    struct segment *segment = calloc(1, sizeof(*segment));
    assert(segment != NULL);
    assert(first >= 0);
    assert(series->records_max > 0);
    assert(series->format != EXPORT_AVRO || series->schema != NULL);
    prefix_of(series, prefix);
    segment->series = series;
    segment->first = first;
    int size = snprintf(segment->partial, sizeof(segment->partial), "%s/%s%015" PRId64 ".partial",
                        series->directory, prefix, first);
    if (size < 0 || (size_t)size >= sizeof(segment->partial))
        errno = ENAMETOOLONG;
    else
        segment->out = create(segment->partial);
    if (segment->out == NULL) {
        enum error_class class = fail(ret_error, "write", segment->partial);
        free(segment);
        return class;
    }
    if (series->format == EXPORT_AVRO)
        segment->container = container_new(segment->out, text_of(series->schema));
    *ret_segment = segment;
    return ERROR_OK;
}

void segment_add_avro(struct segment *segment, const void *record, size_t size)
{
    assert(segment->series->format == EXPORT_AVRO);
    container_append(segment->container, record, size);
    segment->records++;
    segment->bytes += size;
}

void segment_add_json(struct segment *segment, const json_t *record)
{
    assert(segment->series->format == EXPORT_JSONL);
    assert(json_is_object(record));
    char *text = json_tree_print(record, JSON_COMPACT);
    assert(text != NULL);
    segment->bytes += strlen(text);
    fprintf(segment->out, "%s\n", text); /* ferror() has the failure */
    free(text);
    segment->records++;
}

bool segment_is_full(const struct segment *segment)
{
    return segment->records >= segment->series->records_max ||
           segment->bytes >= SEGMENT_BYTES_MAX || ferror(segment->out) != 0;
}

static void sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

enum error_class segment_finish(struct segment *segment, int64_t next, struct error *ret_error)
{
    const struct segment_series *series = segment->series;
    char prefix[64];
    char path[PATH_MAX];
    assert(next > segment->first);
    if (segment->container != NULL)
        container_finish(segment->container);
    prefix_of(series, prefix);
    snprintf(path, sizeof(path), "%s/%s%015" PRId64 "-%015" PRId64 ".%s", series->directory, prefix,
             segment->first, next, extensions[series->format]);
    bool written = fflush(segment->out) == 0 && ferror(segment->out) == 0 &&
                   fsync(fileno(segment->out)) == 0 && rename(segment->partial, path) == 0;
    if (!written) {
        enum error_class class = fail(ret_error, "write", path);
        segment_discard(segment);
        return class;
    }
    container_free(segment->container);
    fclose(segment->out);
    free(segment);
    sync_directory(series->directory);
    return ERROR_OK;
}

void segment_discard(struct segment *segment)
{
    if (segment == NULL)
        return;
    container_free(segment->container);
    fclose(segment->out);
    unlink(segment->partial);
    free(segment);
}
