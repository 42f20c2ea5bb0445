/* SPDX-License-Identifier: Apache-2.0 */
/* See output_chosen.h. */
#include "cli/output_chosen.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool separates(char c)
{
    return c == ',' || c == ' ';
}

struct output_chosen *output_chosen_new(const char *fields)
{
    size_t size = strlen(fields), most = 1;
    struct output_chosen *chosen = calloc(1, sizeof(*chosen));
    assert(chosen != NULL);
    for (size_t i = 0; i < size; i++)
        most += separates(fields[i]);
    chosen->columns = calloc(most + 1, sizeof(chosen->columns[0]));
    chosen->found = calloc(most, sizeof(chosen->found[0]));
    chosen->names = calloc(2, size + 1); /* the paths, and the titles */
    assert(chosen->columns != NULL && chosen->found != NULL && chosen->names != NULL);
    char *paths = chosen->names, *titles = chosen->names + size + 1;
    for (size_t i = 0; i < size; i++) {
        paths[i] = separates(fields[i]) ? '\0' : fields[i];
        titles[i] = (char)toupper((unsigned char)paths[i]);
    }
    for (size_t i = 0; i < size; i += strlen(paths + i) + 1)
        if (paths[i] != '\0')
            chosen->columns[chosen->count++] =
                (struct output_column){titles + i, paths + i, output_value, false};
    return chosen;
}

struct output_chosen *output_chosen_of(const json_t *row)
{
    const char *name;
    json_t *value;
    char *fields = NULL;
    size_t size;
    FILE *out = open_memstream(&fields, &size);
    assert(out != NULL);
    json_object_foreach((json_t *)(uintptr_t)row, name, value)
        fprintf(out, "%s,", name);
    fclose(out);
    struct output_chosen *chosen = output_chosen_new(fields);
    free(fields);
    return chosen;
}

void output_chosen_free(struct output_chosen *chosen)
{
    if (chosen == NULL)
        return;
    free(chosen->columns);
    free(chosen->found);
    free(chosen->names);
    free(chosen);
}

json_t *output_chosen_row(struct output_chosen *chosen, const json_t *row)
{
    json_t *object = json_object();
    for (size_t i = 0; i < chosen->count; i++) {
        const char *path = chosen->columns[i].path;
        json_t *value = output_value(output_at(row, path));
        if (value == NULL)
            continue;
        chosen->found[i] = true;
        json_object_set_new(object, path, value);
    }
    return object;
}

void output_chosen_check(const struct output_chosen *chosen, const struct cli *cli)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (!chosen->found[i])
            cli_warn(cli, CODE_USAGE,
                     "no row has the field %.100s: --output json shows all of them",
                     chosen->columns[i].path);
}
