/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data_flag.h"

#include "base/heap_arena.h"
#include "base/json.h"
#include "platform/files.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_json(const char *value, struct json_problem *ret_problem)
{
    struct heap_arena scratch;
    struct text canonical;
    heap_arena_init(&scratch, 4096);
    bool is = json_canonical(text_of(value), UINT32_MAX, &scratch.arena, &canonical, ret_problem);
    ret_problem->path.depth = 0; /* its names are gone with the scratch memory */
    heap_arena_deinit(&scratch);
    return is;
}

enum error_class data_flag_read(const struct cli *cli, const char *flag, size_t bytes_max,
                                char **ret_data, size_t *ret_size, struct error *ret_error)
{
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    char name[64];
    const char *value = cli_flag_value(cli, flag);
    if (value == NULL)
        return ERROR_OK;
    if (is_json(value, &problem)) {
        char *data = strdup(value);
        assert(data != NULL);
        *ret_data = data;
        *ret_size = strlen(value);
        return ERROR_OK;
    }
    if (*value != '\0' && strchr("{[\"", *value) == NULL)
        return files_read(value, bytes_max, ret_data, ret_size, ret_error);
    snprintf(name, sizeof(name), "--%s", flag);
    json_problem_format(&problem, name, line);
    return error_set(ret_error, CODE_USAGE, "%s", line);
}
