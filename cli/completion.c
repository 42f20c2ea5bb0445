/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve completion`: the shells ask `reeve completion words` for what a word may become, so that
 * all of them offer what the table of commands has. */
#include "cli/cli.h"

#include "replica/service/settings.h"

#include <assert.h>
#include <string.h>

enum { FLAG_SIZE = 128 };

/* The line that is completed. */
struct line {
    const struct cli *cli;
    const char *const *words; /* without "reeve" */
    int count;
    const char *word; /* the last one, which is being written */
    const struct cli_verb *verb;
    int first;        /* of `words` behind the verb */
    unsigned readers; /* of the keys of the configuration that are flags here */
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* ---- offers ---- */

/* A line "WORD<tab>DESCRIPTION" if WORD continues what is there. */
static void offer(const struct line *line, const char *before, const char *name, size_t name_size,
                  const char *doc)
{
    char word[2 * FLAG_SIZE];
    snprintf(word, sizeof(word), "%s%.*s", before, (int)name_size, name);
    if (!begins_with(word, line->word))
        return;
    fprintf(line->cli->out, "%s\t%.*s\n", word, (int)cli_first_sentence(doc), doc);
}

static void offer_name(const struct line *line, const char *name, const char *doc)
{
    offer(line, "", name, strlen(name), doc);
}

static void offer_nouns(const struct line *line)
{
    for (size_t i = 0; line->cli->nouns[i] != NULL; i++)
        offer_name(line, line->cli->nouns[i]->name, line->cli->nouns[i]->summary);
}

static void offer_verbs(const struct line *line, const struct cli_noun *noun)
{
    for (size_t i = 0; i < noun->verb_count && noun->verbs[i].name != NULL; i++)
        offer_name(line, noun->verbs[i].name, noun->verbs[i].summary);
}

/* Choices are separated by bars. */
static void offer_choices(const struct line *line, const char *before, const char *choices)
{
    while (*choices != '\0') {
        size_t size = strcspn(choices, "|");
        offer(line, before, choices, size, "");
        choices += size + (choices[size] == '|');
    }
}

/* "data.dir" is --data-dir. */
static void flag_of_key(const char *key, char ret_flag[FLAG_SIZE])
{
    snprintf(ret_flag, FLAG_SIZE, "--%s", key);
    for (char *at = ret_flag; (at = strchr(at, '.')) != NULL;)
        *at = '-';
}

static void offer_flags(const struct line *line)
{
    char flag[FLAG_SIZE];
    for (const struct cli_flag *own = line->verb->flags; own != NULL && own->name != NULL; own++)
        offer(line, "--", own->name, strlen(own->name), own->doc);
    if (!line->verb->plain) {
        offer_name(line, "--output", CLI_OUTPUT_HELP);
        offer_name(line, "--fields", CLI_FIELDS_HELP);
    }
    offer_name(line, "--help", "Explains the command.");
    if (line->readers == 0)
        return;
    offer_name(line, "--config", "The properties file.");
    offer_name(line, "--set", "KEY=VALUE of the configuration.");
    for (size_t i = 0; i < settings_schema.key_count; i++) {
        const struct config_key *key = &settings_schema.keys[i];
        flag_of_key(key->name, flag);
        if ((key->readers & line->readers) != 0)
            offer_name(line, flag, key->doc);
    }
}

/* ---- what the line has so far ---- */

static unsigned readers_named(const char *name)
{
    for (size_t i = 0; i < settings_schema.reader_count; i++)
        if (strcmp(settings_schema.readers[i].name, name) == 0)
            return settings_schema.readers[i].bits;
    return 0;
}

/* `reeve run SERVICE` takes the keys of that service. */
static unsigned readers_of(const struct line *line)
{
    if (line->verb->raw)
        return line->first + 1 < line->count ? readers_named(line->words[line->first]) : 0;
    return line->verb->settings == CLI_SETTINGS_NONE     ? 0
           : line->verb->settings == CLI_SETTINGS_OF_CLI ? SETTINGS_CLI
                                                         : SETTINGS_ALL;
}

static const struct config_key *key_of(const struct line *line, const char *name, size_t size)
{
    char flag[FLAG_SIZE];
    for (size_t i = 0; i < settings_schema.key_count && line->readers != 0; i++) {
        flag_of_key(settings_schema.keys[i].name, flag);
        if (strlen(flag + 2) == size && strncmp(flag + 2, name, size) == 0)
            return &settings_schema.keys[i];
    }
    return NULL;
}

/* What a value of the flag may be, "" if it may be anything. NULL: it takes none. */
static const char *values_of(const struct line *line, const char *name, size_t size)
{
    if (!line->verb->plain && size == strlen("output") && strncmp(name, "output", size) == 0)
        return CLI_OUTPUT_NAMES;
    const struct cli_flag *own = cli_find_flag(line->verb, name, size);
    if (own != NULL)
        return own->value != NULL ? "" : NULL;
    const struct config_key *key = key_of(line, name, size);
    if (key != NULL && key->type == CONFIG_BOOL)
        return "true|false";
    return key != NULL && key->choices != NULL ? key->choices : "";
}

/* The number of arguments before the word. *ret_literal: "--" is among them, so the word is
 * not one. */
static int arguments_before(const struct line *line, bool *ret_literal)
{
    int arguments = 0;
    *ret_literal = false;
    for (int i = line->first; i < line->count - 1; i++) {
        const char *word = line->words[i];
        if (*ret_literal || !begins_with(word, "--"))
            arguments++;
        else if (strcmp(word, "--") == 0)
            *ret_literal = true;
        else if (strchr(word, '=') == NULL && values_of(line, word + 2, strlen(word + 2)) != NULL)
            i++; /* its value */
    }
    return arguments;
}

/* ---- completing ---- */

/* `--flag value` and `--flag=value`. False: it is not a value that is being written. */
static bool complete_value(const struct line *line)
{
    char before[FLAG_SIZE] = "";
    const char *name = line->word;
    if (begins_with(name, "--") && strchr(name, '=') != NULL)
        snprintf(before, sizeof(before), "%.*s", (int)strcspn(name, "=") + 1, name);
    else if (line->count - 1 > line->first)
        name = line->words[line->count - 2];
    if (!begins_with(name, "--") || name[2] == '\0' ||
        (before[0] == '\0' && (name == line->word || strchr(name, '=') != NULL)))
        return false;
    const char *values = values_of(line, name + 2, strcspn(name + 2, "="));
    if (values == NULL)
        return false;
    offer_choices(line, before, values);
    return true;
}

/* Arguments of `help` are commands; other verbs say what their first one may be. */
static void complete_argument(const struct line *line, int index)
{
    const struct cli_noun *noun = NULL;
    if (line->verb->of_commands && index == 0)
        offer_nouns(line);
    else if (line->verb->of_commands)
        noun = cli_find_noun(line->cli->nouns, line->words[line->first]);
    else if (line->verb->choices != NULL && index == 0)
        offer_choices(line, "", line->verb->choices);
    if (noun != NULL && index == 1)
        offer_verbs(line, noun);
}

static void complete(struct line *line)
{
    bool literal;
    const struct cli_noun *noun =
        line->count > 1 ? cli_find_noun(line->cli->nouns, line->words[0]) : NULL;
    if (line->count == 1)
        offer_nouns(line);
    if (noun == NULL)
        return;
    if (line->count == 2 && noun->verbs[0].name != NULL) {
        offer_verbs(line, noun);
        if (cli_find_verb(noun, NULL) == NULL)
            return;
    }
    line->verb = cli_find_verb(noun, line->words[1]);
    if (line->verb == NULL)
        return;
    line->first = line->verb->name != NULL ? 2 : 1;
    line->readers = readers_of(line);
    int index = arguments_before(line, &literal);
    if (literal || !complete_value(line)) {
        if (!literal && line->word[0] == '-')
            offer_flags(line);
        else
            complete_argument(line, index);
    }
}

static int run_words(struct cli *cli)
{
    struct line line = {
        .cli = cli, .words = (const char *const *)cli->arguments, .count = cli->argument_count};
    if (line.count > 0 && strcmp(line.words[0], "--") == 0) {
        line.words++;
        line.count--;
    }
    if (line.count > 0) {
        line.word = line.words[line.count - 1];
        complete(&line);
    }
    return EXIT_CODE_OK;
}

/* ---- the scripts ---- */

/* bash breaks words at '='; the pieces of a flag and its value are joined again, and what stands
 * before the last piece is taken off the answers. */
static const char bash[] =
    "# Completion of reeve for bash: `source <(reeve completion bash)`.\n"
    "_reeve() {\n"
    "    local words=() at line lines\n"
    "    for ((at = 1; at <= COMP_CWORD; at++)); do\n"
    "        if ((at > 1)) && [[ ${COMP_WORDS[at]} == = || ${COMP_WORDS[at - 1]} == = ]]; then\n"
    "            words[-1]+=${COMP_WORDS[at]}\n"
    "        else\n"
    "            words+=(\"${COMP_WORDS[at]}\")\n"
    "        fi\n"
    "    done\n"
    "    mapfile -t lines < <(reeve completion words -- \"${words[@]}\" 2>/dev/null)\n"
    "    COMPREPLY=()\n"
    "    for line in \"${lines[@]}\"; do\n"
    "        line=${line%%$'\\t'*}\n"
    "        [[ ${words[-1]} != *=* ]] || line=${line#*=}\n"
    "        COMPREPLY+=(\"$line\")\n"
    "    done\n"
    "}\n"
    "complete -o default -F _reeve reeve\n";

static const char zsh[] =
    "#compdef reeve\n"
    "# Completion of reeve for zsh: `source <(reeve completion zsh)`, or a file _reeve in $fpath.\n"
    "_reeve() {\n"
    "    local line\n"
    "    local -a lines found\n"
    "    lines=(\"${(@f)$(reeve completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    for line in $lines; do\n"
    "        found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done\n"
    "    if (($#found)); then _describe reeve found; else _files; fi\n"
    "}\n"
    "if [[ $funcstack[1] == _reeve ]]; then _reeve \"$@\"; else compdef _reeve reeve; fi\n";

static const char fish[] =
    "# Completion of reeve for fish: `reeve completion fish | source`.\n"
    "function __reeve_words\n"
    "    set -l before (commandline -opc)\n"
    "    reeve completion words -- $before[2..-1] (commandline -ct) 2>/dev/null\n"
    "end\n"
    "complete -c reeve -a '(__reeve_words)'\n";

static int run_script(struct cli *cli)
{
    fputs(cli->verb->of, cli->out);
    return EXIT_CODE_OK;
}

#define SHELL(shell, example)                                                                    \
    {                                                                                            \
        .name = #shell, .summary = "Prints the completion for " #shell ".", .examples = example, \
        .settings = CLI_SETTINGS_NONE, .plain = true, .run = run_script, .of = shell             \
    }

static const struct cli_verb verbs[] = {
    SHELL(bash, "source <(reeve completion bash)"),
    SHELL(zsh, "source <(reeve completion zsh)"),
    SHELL(fish, "reeve completion fish | source"),
    {
        .name = "words",
        .arguments = "[WORD...]",
        .summary = "Lists what the last word of a command line may become. For the shells: `--` "
                   "stands before the line, without the name of the program.",
        .examples = "reeve completion words -- orders ''",
        .settings = CLI_SETTINGS_NONE,
        .raw = true,
        .plain = true,
        .run = run_words,
    },
};

const struct cli_noun cli_completion = {"completion", "Completion for shells.", verbs,
                                        sizeof(verbs) / sizeof(verbs[0])};
