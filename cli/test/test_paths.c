/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/test/test_run.h"
#include "cli/workflow/tested_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32, FILES_MAX = 10000 };

/* Stolen. */
static void add(struct test_paths *paths, char *path)
{
    char **items = realloc(paths->items, (paths->count + 1) * sizeof(*items));
    assert(items != NULL && path != NULL);
    items[paths->count++] = path;
    paths->items = items;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void walk(struct test_paths *paths, const char *folder, int depth);

/* Symbolic links to directories are not followed: they may lead back. */
static void take(struct test_paths *paths, char *path, int depth)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
        walk(paths, path, depth + 1);
    else if (string_ends_with(path, TESTED_FILE_SUFFIX) && paths->count < FILES_MAX)
        add(paths, strdup(path));
    free(path);
}

static void walk(struct test_paths *paths, const char *folder, int depth)
{
    struct dirent **entries = NULL;
    int count = depth < DEPTH_MAX ? scandir(folder, &entries, is_visible, by_name) : 0;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        int size = asprintf(&path, "%s/%s", folder, entries[i]->d_name);
        assert(size > 0);
        take(paths, path, depth);
        free(entries[i]);
    }
    free(entries);
}

enum error_class test_paths_add(struct test_paths *paths, const char *path, struct error *ret_error)
{
    struct stat status;
    size_t before = paths->count;
    if (stat(path, &status) != 0)
        return error_set(ret_error, CODE_NO_FILE, "%.200s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode)) {
        add(paths, strdup(path));
        return ERROR_OK;
    }
    walk(paths, path, 0);
    if (paths->count == before)
        return error_set(ret_error, CODE_NO_FILE, "%.200s has no files *" TESTED_FILE_SUFFIX, path);
    return ERROR_OK;
}

void test_paths_deinit(struct test_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i]);
    free(paths->items);
}
