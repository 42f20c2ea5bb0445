/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cli/table_kit.h"

#include "tools/tools.h"

#include <stdlib.h>
#include <string.h>

char *out_text, *err_text;
static char *const no_environment[] = {NULL};
char *const *table_kit_environment = no_environment;

/* The table of main.c. */
#define CLI_NOUN(name) &cli_##name,
#define TOOLS_NOUN(name) &tools_##name,
const struct cli_noun *const table_kit_nouns[] = {CLI_NOUNS(CLI_NOUN) TOOLS_NOUNS(TOOLS_NOUN)
                                                      CLI_PROGRAM_NOUNS(CLI_NOUN) NULL};

int reeve(const char *line)
{
    static char words[1024];
    char *argv[16] = {NULL};
    int argc = 0;
    size_t out_size = 0, err_size = 0;
    free(out_text);
    free(err_text);
    out_text = err_text = NULL;
    FILE *out = open_memstream(&out_text, &out_size);
    FILE *err = open_memstream(&err_text, &err_size);
    snprintf(words, sizeof(words), "%s", line);
    char *rest = words;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word != '\0' && argc < 15)
            argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    int code = cli_main(argc, argv, table_kit_environment, table_kit_nouns, out, err);
    fclose(out);
    fclose(err);
    return code;
}

void table_kit_tear_down(void)
{
    free(out_text);
    free(err_text);
    out_text = err_text = NULL;
}
