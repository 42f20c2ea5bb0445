/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve context`: what is kept, which one is in effect, and what is stronger. */
#include "cli/context.h"
#include "platform/files.h"
#include "tests/unit/cli/table_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64], home[80];
static char *environment[3];

static void set_up(void)
{
    snprintf(folder, sizeof(folder), "/tmp/reeve-context-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", folder);
    environment[0] = home;
    environment[1] = environment[2] = NULL;
    table_kit_environment = environment;
}

static void tear_down(void)
{
    files_remove_tree(folder, NULL);
    table_kit_tear_down();
}

TestSuite(cli_context, .init = set_up, .fini = tear_down);

static void expect(const char *line, int code, const char *part)
{
    int got = reeve(line);
    cr_assert_eq(got, code, "%s: %d: %s", line, got, err_text);
    cr_assert(strstr(code == EXIT_CODE_OK ? out_text : err_text, part) != NULL, "%s: %s%s", line,
              out_text, err_text);
}

/* A command that fails for lack of a console says where it looked. */
static void expect_console(const char *line, const char *url)
{
    char part[128];
    snprintf(part, sizeof(part), "no console answers at %s ", url);
    expect(line, EXIT_CODE_UNAVAILABLE, part);
}

Test(cli_context, is_used_from_when_it_is_added)
{
    expect("context list", EXIT_CODE_OK, "CONTEXT");
    expect("context add a --console-url http://127.0.0.1:9 --topics-prefix shop", EXIT_CODE_OK,
           "a");
    expect_console("alerts", "http://127.0.0.1:9");
    expect("context add b --console-url http://127.0.0.1:13", EXIT_CODE_OK, "b");
    expect_console("alerts", "http://127.0.0.1:13");
    expect_console("alerts --context a", "http://127.0.0.1:9");
    expect("context use a", EXIT_CODE_OK, "a");
    expect_console("alerts", "http://127.0.0.1:9");
    expect("context list --output csv", EXIT_CODE_OK,
           "a,true,http://127.0.0.1:9,,shop\nb,false,http://127.0.0.1:13,,\n");
}

Test(cli_context, is_weaker_than_flags_and_variables_and_gives_way_to_a_file)
{
    char path[96], line[160];
    expect("context add a --console-url http://127.0.0.1:9", EXIT_CODE_OK, "a");
    expect_console("alerts --console-url http://127.0.0.1:13", "http://127.0.0.1:13");
    environment[1] = "REEVE_CONSOLE_URL=http://127.0.0.1:17";
    expect_console("alerts", "http://127.0.0.1:17");
    environment[1] = NULL;
    snprintf(path, sizeof(path), "%s/x.properties", folder);
    cr_assert(files_write_atomic(path, TEXT("console.url = http://127.0.0.1:19\n"), NULL) ==
              ERROR_OK);
    snprintf(line, sizeof(line), "alerts --config %s", path);
    expect_console(line, "http://127.0.0.1:19");
    environment[1] = "REEVE_CONTEXT=b";
    expect("alerts", EXIT_CODE_CONFIG, "there is no context b: `reeve context list`");
}

Test(cli_context, of_the_command_line_is_stronger_than_the_file_of_the_environment)
{
    char path[96], line[160], variable[112];
    snprintf(path, sizeof(path), "%s/x.properties", folder);
    cr_assert(files_write_atomic(path, TEXT("console.url = http://127.0.0.1:19\n"), NULL) ==
              ERROR_OK);
    snprintf(variable, sizeof(variable), "REEVE_CONFIG=%s", path);
    expect("context add a --console-url http://127.0.0.1:9", EXIT_CODE_OK, "a");
    cr_assert_str_empty(err_text);
    environment[1] = variable;
    expect_console("alerts", "http://127.0.0.1:19");
    expect_console("alerts --context a", "http://127.0.0.1:9");
    expect("context use a", EXIT_CODE_OK, "a");
    cr_assert(strstr(err_text, "warning: REEVE_CONFIG is set") != NULL, "%s", err_text);
    environment[1] = "REEVE_CONTEXT=a";
    snprintf(line, sizeof(line), "alerts --config %s", path);
    expect_console(line, "http://127.0.0.1:19");
    environment[1] = NULL;
    snprintf(line, sizeof(line), "alerts --context a --config %s", path);
    expect(line, EXIT_CODE_USAGE, "--config and --context: name one of them");
    snprintf(line, sizeof(line), "context add b --config %s", path);
    expect(line, EXIT_CODE_USAGE, "name the settings");
}

Test(cli_context, keeps_files_by_their_whole_path_and_for_its_user_alone)
{
    char path[96], line[160], *content = NULL;
    size_t size;
    struct stat found;
    snprintf(path, sizeof(path), "%s/token", folder);
    cr_assert(files_write_atomic(path, TEXT("secret\n"), NULL) == ERROR_OK);
    snprintf(line, sizeof(line), "context add a --console-token-file %s/../%s/token", folder,
             strrchr(folder, '/') + 1);
    expect(line, EXIT_CODE_OK, "a");
    snprintf(path, sizeof(path), "%s/reeve/contexts/a.properties", folder);
    cr_assert(files_read(path, 4096, &content, &size, NULL) == ERROR_OK);
    snprintf(line, sizeof(line), "# A context of `reeve context`.\nconsole.token.file = %s/token\n",
             folder);
    cr_assert_str_eq(content, line, "%s", content);
    cr_assert(stat(path, &found) == 0 && (found.st_mode & 0777) == 0600);
    free(content);
    expect("context add b --console-token-file /does/not/exist", EXIT_CODE_CONFIG,
           "console.token.file");
}

Test(cli_context, has_a_name_that_is_safe_as_that_of_a_file)
{
    expect("context add ../a", EXIT_CODE_USAGE, "../a: a context has a name of letters");
    expect("context add .a", EXIT_CODE_USAGE, "a context has a name of letters");
    expect("context use ../a", EXIT_CODE_USAGE, "a context has a name of letters");
    expect("alerts --context ../a", EXIT_CODE_CONFIG, "context");
}

Test(cli_context, is_replaced_only_where_the_line_says_it)
{
    expect("context add a --console-url http://127.0.0.1:9 --topics-prefix shop", EXIT_CODE_OK,
           "a");
    expect("context add b", EXIT_CODE_OK, "b");
    expect("context add a --console-url http://127.0.0.1:13", EXIT_CODE_NEGATIVE,
           "reeve: there is a context a: --replace replaces it, `reeve context use a` uses it");
    expect("context list --output csv", EXIT_CODE_OK,
           "a,false,http://127.0.0.1:9,,shop\nb,true,,,\n");
    expect("context add a --replace --console-url http://127.0.0.1:13 --output json", EXIT_CODE_OK,
           "\"result\":\"replaced\"");
    expect("context list --output csv", EXIT_CODE_OK, "a,true,http://127.0.0.1:13,,\nb,false,,,\n");
}

Test(cli_context, may_be_removed_and_is_not_used_any_more)
{
    expect("context add a --console-url http://127.0.0.1:9", EXIT_CODE_OK, "a");
    expect("context remove b", EXIT_CODE_NEGATIVE, "there is no context b");
    expect("context use b", EXIT_CODE_NEGATIVE, "there is no context b");
    expect("context remove a", EXIT_CODE_OK, "removed");
    expect("context list --output id", EXIT_CODE_OK, "");
    cr_assert_str_eq(out_text, "");
    expect("context remove a", EXIT_CODE_NEGATIVE, "there is no context a");
    expect_console("alerts --console-url http://127.0.0.1:13", "http://127.0.0.1:13");
}

/* Some services run without a home. */
Test(cli_context, needs_a_home_only_to_be_added)
{
    environment[0] = NULL;
    expect("context list --output id", EXIT_CODE_OK, "");
    expect("context add a", EXIT_CODE_CONFIG, "set HOME");
    expect_console("alerts --console-url http://127.0.0.1:13", "http://127.0.0.1:13");
}
