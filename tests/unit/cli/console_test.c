/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with hostile ids, and where a command finds the console. */
#include "cli/console/console_client.h"
#include "platform/files.h"
#include "tests/unit/cli/cli_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
    char *long_id = calloc(1, 20000);
    memset(long_id, '/', 19999);
    console_path_add_segment(&path, long_id);
    cr_assert(path.is_too_long);
    cr_assert_eq(console_query(&client, &path, NULL, &answer, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_USAGE);
    cr_assert_str_eq(error.message,
                     "the arguments are too long: a console takes 16383 bytes, percent-encoded");
    free(long_id);
}

/* Otherwise the console would be asked for a path that does not exist. */
Test(cli_console, refuses_empty_operands)
{
    struct console_path path = {.size = 0};
    struct console_client client = {.base = "http://127.0.0.1:1"};
    struct console_answer answer;
    struct error error;
    console_path_add(&path, "/api/orders/");
    console_path_add_segment(&path, "");
    cr_assert_eq(console_query(&client, &path, NULL, &answer, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_USAGE);
    cr_assert_str_eq(error.message, "an argument is empty: expected an id or a name");
}

/* `reeve owners ARGUMENTS` fails, and names the address that it called. */
#define EXPECT_ADDRESS(expected, ...)                                 \
    do {                                                              \
        int code = CLI_KIT_RUN(&cli_owners, "owners", __VA_ARGS__);   \
        cr_assert_eq(code, EXIT_CODE_UNAVAILABLE, "%s", cli_kit_err); \
        cli_kit_expect_text(cli_kit_err, expected);                   \
    } while (0)

Test(cli_console, finds_the_address_of_the_console)
{
    char folder[] = "/tmp/cli-console-XXXXXX";
    char path[128];
    struct error error;
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    snprintf(path, sizeof(path), "%s/dev/console", folder);
    cr_assert(files_make_dirs(path, &error) == ERROR_OK);
    snprintf(path, sizeof(path), "%s/dev/console/http.url", folder);
    cr_assert(files_write_atomic(path, TEXT("http://127.0.0.1:9\n"), &error) == ERROR_OK);
    EXPECT_ADDRESS("http://127.0.0.1:9 ", "--data-dir", folder);
    EXPECT_ADDRESS("http://127.0.0.1:7 ", "--data-dir", folder, "--console-url",
                   "http://127.0.0.1:7");
    EXPECT_ADDRESS("http://127.0.0.1:19 ", "--console-url", "http://127.0.0.1:7", "--console",
                   "http://127.0.0.1:19//");
    /* Another user could have written it. */
    cr_assert(chmod(path, 0666) == 0);
    EXPECT_ADDRESS("http://127.0.0.1:8080 ", "--data-dir", folder);
    unlink(path);
    snprintf(path, sizeof(path), "rm -rf %s", folder);
    cr_assert_eq(system(path), 0);
}
