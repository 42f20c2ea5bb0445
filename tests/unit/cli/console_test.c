/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with hostile ids, and where a command finds the console. */
#include "cli/console/console_client.h"
#include "platform/files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

Test(cli_console, encodes_paths)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/orders/");
    console_path_add_segment(&path, "a/b ?&=#%\"\xc3\xa9-_.~");
    console_path_add(&path, "/history");
    console_path_add_query(&path, "after", NULL);
    console_path_add_query(&path, "state", "a&b");
    console_path_add_query(&path, "limit", "7");
    cr_assert_str_eq(path.text, "/api/orders/a%2Fb%20%3F%26%3D%23%25%22%C3%A9-_.~/history"
                                "?state=a%26b&limit=7");
    cr_assert_not(path.is_too_long);
}

Test(cli_console, refuses_paths_that_are_too_long)
{
    struct console_path path = {.size = 0};
    struct console_client client = {.base = "http://127.0.0.1:1"};
    struct console_answer answer;
    struct error error;
    char *long_id = calloc(1, 10000);
    memset(long_id, '/', 9999);
    console_path_add_segment(&path, long_id);
    cr_assert(path.is_too_long);
    cr_assert_eq(console_query(&client, &path, NULL, &answer, &error), ERROR_REJECT);
    cr_assert_str_eq(error.code, "Usage");
    free(long_id);
}

/* `reeve owners ARGUMENTS` fails, and names the address that it called. */
static void expect_address(const char *const arguments[], const char *expected)
{
    char *argv[16] = {(char *)(uintptr_t) "owners"};
    char *err_text = NULL;
    size_t size = 0;
    int argc = 1;
    for (int i = 0; arguments[i] != NULL; i++)
        argv[argc++] = (char *)(uintptr_t)arguments[i];
    char *const environment[] = {NULL};
    FILE *err = open_memstream(&err_text, &size);
    FILE *out = fopen("/dev/null", "we");
    int code = cli_main_to(argc, argv, environment,
                           (const struct cli_noun *const[]){&cli_owners, NULL}, out, err);
    fclose(err);
    fclose(out);
    cr_assert_eq(code, EXIT_CODE_UNAVAILABLE, "%s", err_text);
    cr_assert(strstr(err_text, expected) != NULL, "%s", err_text);
    free(err_text);
}

Test(cli_console, finds_the_address_of_the_console)
{
    char folder[] = "/tmp/cli-console-XXXXXX";
    char path[128];
    struct error error;
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    snprintf(path, sizeof(path), "%s/dev/console", folder);
    cr_assert(files_make_dirs(path, &error) == ERROR_OK);
    snprintf(path, sizeof(path), "%s/dev/console/http.port", folder);
    cr_assert(files_write_atomic(path, TEXT("9\n"), &error) == ERROR_OK);
    expect_address((const char *[]){"--data-dir", folder, NULL}, "http://127.0.0.1:9 ");
    expect_address(
        (const char *[]){"--data-dir", folder, "--console-url", "http://127.0.0.1:7", NULL},
        "http://127.0.0.1:7 ");
    expect_address((const char *[]){"--console-url", "http://127.0.0.1:7", "--console",
                                    "http://127.0.0.1:19//", NULL},
                   "http://127.0.0.1:19 ");
    unlink(path);
    snprintf(path, sizeof(path), "rm -rf %s", folder);
    cr_assert_eq(system(path), 0);
}
