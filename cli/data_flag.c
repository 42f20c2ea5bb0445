/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data_flag.h"

#include "base/heap_arena.h"
#include "base/json.h"
#include "platform/files.h"
#include "schemas/json/json_codec.h"

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

static enum error_class refuse(const char *flag, const struct json_problem *problem,
                               struct error *ret_error)
{
    char line[JSON_PROBLEM_SIZE];
    char name[64];
    snprintf(name, sizeof(name), "--%s", flag);
    json_problem_format(problem, name, line);
    return error_set(ret_error, CODE_USAGE, "%s", line);
}

enum error_class data_flag_read(const struct cli *cli, const char *flag, size_t bytes_max,
                                char **ret_data, size_t *ret_size, struct error *ret_error)
{
    struct json_problem problem;
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
        return files_read(strcmp(value, "-") == 0 ? "/dev/stdin" : value, bytes_max, ret_data,
                          ret_size, ret_error);
    return refuse(flag, &problem, ret_error);
}

static enum error_class put(json_t *body, const char *flag, struct text json, uint32_t bytes_max,
                            struct error *ret_error)
{
    struct heap_arena scratch;
    struct text canonical;
    struct json_problem problem;
    enum error_class class = ERROR_OK;
    heap_arena_init(&scratch, 4096);
    if (json_canonical(json, bytes_max, &scratch.arena, &canonical, &problem))
        json_object_set_new(body, flag, json_codec_json(canonical));
    else
        class = refuse(flag, &problem, ret_error);
    heap_arena_deinit(&scratch);
    return class;
}

enum error_class data_flag_put(const struct cli *cli, const char *flag, size_t bytes_max,
                               uint32_t canonical_max, json_t *body, struct error *ret_error)
{
    char *data = NULL;
    size_t size = 0;
    enum error_class class = data_flag_read(cli, flag, bytes_max, &data, &size, ret_error);
    if (class == ERROR_OK && data != NULL)
        class = put(body, flag, (struct text){data, (uint32_t)size}, canonical_max, ret_error);
    free(data);
    return class;
}
