/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders amend`: an operator corrects the input of an order in Error. */
#include "base/heap_arena.h"
#include "base/json.h"
#include "cli/console/operator_command.h"
#include "cli/console/orders.h"
#include "cli/data_flag.h"
#include "schemas/json/json_codec.h"

#include <stdlib.h>
#include <string.h>

static enum error_class put_input(json_t *body, struct text json, struct error *ret_error)
{
    struct heap_arena scratch;
    struct text canonical;
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    heap_arena_init(&scratch, 4096);
    bool good = json_canonical(json, ORDER_INPUT_BYTES_MAX, &scratch.arena, &canonical, &problem);
    if (good)
        json_object_set_new(body, "input", json_codec_json(canonical));
    else
        json_problem_format(&problem, "--input", line);
    heap_arena_deinit(&scratch);
    return good ? ERROR_OK : error_set(ret_error, CODE_USAGE, "%s", line);
}

static enum error_class add_input(struct cli *cli, char **last, json_t *body,
                                  struct error *ret_error)
{
    char *data = NULL;
    size_t size = 0;
    (void)last;
    enum error_class class = data_flag_read(cli, "input", INPUT_BYTES_MAX, &data, &size, ret_error);
    if (class == ERROR_OK)
        class = put_input(body, (struct text){data, (uint32_t)size}, ret_error);
    free(data);
    return class;
}

/* Data is one order's own. */
static bool check(struct cli *cli, char **last, int *ret_code)
{
    (void)last;
    if (strcmp(cli->arguments[0], "-") == 0)
        *ret_code = cli_usage(cli, "orders amend is about one order: give its id");
    else if (!cli_flag_given(cli, "input"))
        *ret_code = cli_usage(cli, "--input is missing: the whole new input, or a file of it");
    else
        return true;
    return false;
}

const struct operator_verb orders_amend = {
    .action = "amend", .check = check, .add_fields = add_input};
