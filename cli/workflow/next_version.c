/* SPDX-License-Identifier: Apache-2.0 */
/* See next_version.h. The number is replaced in the text, which keeps its comments and its form. */
#include "cli/workflow/next_version.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Where a number behind the next `Version:` begins and ends; false: there is none. */
static bool find_number(const char *text, size_t size, size_t *from, size_t *ret_at,
                        size_t *ret_end)
{
    static const char name[] = "Version";
    while (*from < size) {
        const char *found = memmem(text + *from, size - *from, name, sizeof(name) - 1);
        if (found == NULL)
            return false;
        size_t at = (size_t)(found - text) + sizeof(name) - 1;
        *from = at;
        while (at < size && strchr("\"' \t", text[at]) != NULL)
            at++;
        if (at == size || text[at] != ':')
            continue;
        for (at++; at < size && strchr(" \t", text[at]) != NULL;)
            at++;
        size_t end = at;
        while (end < size && isdigit((unsigned char)text[end]))
            end++;
        if (end > at) {
            *ret_at = at;
            *ret_end = end;
            return true;
        }
    }
    return false;
}

/* New; NULL: the number of the whole workflow is not there. */
static char *text_with(const struct workflow_file *file, uint32_t version, size_t *ret_size)
{
    size_t from = 0, at, end;
    while (find_number(file->text, file->size, &from, &at, &end)) {
        char *text = NULL;
        struct heap_arena heap;
        struct workflow *workflow = NULL;
        struct workflow_problems problems;
        int size = asprintf(&text, "%.*s%u%.*s", (int)at, file->text, version,
                            (int)(file->size - end), file->text + end);
        assert(size > 0);
        heap_arena_init(&heap, 16 * 1024);
        bool right = workflow_parse((struct text){text, (uint32_t)size}, file->format, &heap.arena,
                                    &problems, &workflow) &&
                     workflow->version == version;
        heap_arena_deinit(&heap);
        if (right) {
            *ret_size = (size_t)size;
            return text;
        }
        free(text);
    }
    return NULL;
}

static const struct workflow_entry *find_highest(const struct workflow_registry *registry,
                                                 struct text name)
{
    const struct workflow_entry *highest = NULL;
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        const struct workflow_entry *entry = workflow_registry_at(registry, i);
        if (text_equal(entry->workflow->name, name) &&
            (highest == NULL || entry->workflow->version > highest->workflow->version))
            highest = entry;
    }
    return highest;
}

/* Steals `text`. */
static void replace(struct workflow_file *file, char *text, size_t size)
{
    free(file->text);
    file->text = text;
    file->size = size;
    heap_arena_reset(&file->heap);
    bool good = workflow_parse((struct text){text, (uint32_t)size}, file->format, &file->heap.arena,
                               &file->problems, &file->workflow);
    assert(good); /* text_with() has tried */
    (void)good;
}

static enum error_class no_number(const struct workflow_file *file, struct error *ret_error)
{
    return error_set(ret_error, CODE_BAD_WORKFLOW,
                     "%s: expected a line `Version: NUMBER`, whose number --next-version replaces",
                     file->path);
}

enum error_class workflow_file_number(const struct workflow_registry *registry,
                                      struct workflow_file *file, struct error *ret_error)
{
    const struct workflow_entry *highest = find_highest(registry, file->workflow->name);
    size_t size;
    if (highest == NULL)
        return ERROR_OK;
    uint32_t version = highest->workflow->version;
    char *text = text_with(file, version, &size);
    if (text == NULL)
        return no_number(file, ret_error);
    if (text_equal((struct text){text, (uint32_t)size}, highest->definition.text)) {
        replace(file, text, size);
        return ERROR_OK;
    }
    free(text);
    if (file->workflow->version > version)
        return ERROR_OK;
    text = text_with(file, version + 1, &size);
    if (text == NULL)
        return no_number(file, ret_error);
    replace(file, text, size);
    return ERROR_OK;
}
