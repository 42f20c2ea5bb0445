/* SPDX-License-Identifier: Apache-2.0 */
/* See tested_file.h. */
#include "cli/workflow/tested_file.h"

#include "platform/files.h"

#include <assert.h>
#include <stdlib.h>

enum { ARENA_SIZE = 64 * 1024 };

/* A path in the file is relative to it; new. */
static char *workflow_path(const struct tested_file *file)
{
    const char *slash = strrchr(file->path, '/');
    struct text workflow = file->cases.workflow;
    bool absolute = workflow.data[0] == '/';
    int folder = absolute || slash == NULL ? 0 : (int)(slash + 1 - file->path);
    char *path = NULL;
    int size = asprintf(&path, "%.*s%.*s", folder, file->path, TEXT_ARG(workflow));
    assert(size > 0);
    return path;
}

static void read_workflow(struct tested_file *file)
{
    struct error error = {0};
    file->workflow_path = workflow_path(file);
    if (workflow_file_read(file->workflow_path, &file->workflow, &error) != ERROR_OK) {
        problems_add_error(&file->problems, file->cases.workflow_mark, "Workflow: %s",
                           error.message);
        return;
    }
    file->has_workflow = true;
    if (file->workflow.workflow != NULL)
        case_file_read(&file->cases, file->workflow.workflow, &file->heap.arena, &file->problems);
}

enum error_class tested_file_read(const char *path, struct tested_file *ret_file,
                                  struct error *ret_error)
{
    size_t size = 0;
    *ret_file = (struct tested_file){.path = path};
    if (files_read(path, WORKFLOW_BYTES_MAX, &ret_file->text, &size, ret_error) != ERROR_OK) {
        /* The user named the file: the input is wrong, not the machine. */
        ret_error->class = ERROR_REJECT;
        return ERROR_REJECT;
    }
    heap_arena_init(&ret_file->heap, ARENA_SIZE);
    if (case_file_begin((struct text){ret_file->text, (uint32_t)size}, &ret_file->heap.arena,
                        &ret_file->problems, &ret_file->cases))
        read_workflow(ret_file);
    return ERROR_OK;
}

void tested_file_deinit(struct tested_file *file)
{
    if (file->has_workflow)
        workflow_file_deinit(&file->workflow);
    free(file->workflow_path);
    heap_arena_deinit(&file->heap);
    free(file->text);
}

const struct workflow_problems *tested_file_problems(const struct tested_file *file,
                                                     const char **ret_path)
{
    *ret_path = file->path;
    if (file->problems.errors > 0)
        return &file->problems;
    *ret_path = file->workflow_path;
    return file->workflow.workflow == NULL ? &file->workflow.problems : NULL;
}
