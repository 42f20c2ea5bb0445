/* SPDX-License-Identifier: Apache-2.0 */
/* JSON files of orders, rejects. */
#include "base/json.h"
#include "cli/import/rejects.h"
#include "cli/progress.h"
#include "cli/submit/orders_file.h"
#include "platform/files.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each order's "n" with its line: "1=10 2=20", bad ones as "2!". */
static const char *read_all(const char *text, bool lines)
{
    static char result[4096];
    struct text order = {0};
    int64_t number = 0;
    int64_t line = 0;
    size_t used = 0;
    FILE *in = *text != '\0' ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : tmpfile();
    struct orders_file *file = orders_file_new(in, lines);
    result[0] = '\0';
    for (int i = 0; i < 20; i++) {
        struct error error = {0};
        enum orders_file_result r = orders_file_next(file, &order, &line, &error);
        if (r == ORDERS_FILE_END)
            break;
        used += (size_t)snprintf(result + used, sizeof(result) - used, "%s%lld",
                                 used > 0 ? " " : "", (long long)line);
        struct json_value n = json_value_member(json_value_of(order), TEXT("n"), NULL);
        if (r == ORDERS_FILE_ORDER && json_value_integer(n, &number))
            used +=
                (size_t)snprintf(result + used, sizeof(result) - used, "=%lld", (long long)number);
        else
            used += (size_t)snprintf(result + used, sizeof(result) - used, "!%s",
                                     strncmp(error.message, "not JSON", 8) == 0 ? "" : "?");
    }
    orders_file_free(file);
    fclose(in);
    return result;
}

static void expect(const char *text, bool lines, const char *orders)
{
    const char *got = read_all(text, lines);
    cr_assert_str_eq(got, orders, "%s: got %s, expected %s", text, got, orders);
}

Test(cli_files, reads_an_order_that_spans_lines)
{
    expect("{\"n\": 1}", false, "1=1");
    expect("{\n  \"n\":\n 7\n}\n", false, "1=7");
    expect("\n\n{\n\"n\": 7}\n", false, "1=7");
}

Test(cli_files, reads_lists)
{
    expect("[{\"n\": 1}, {\"n\": 2}]", false, "1=1 2=2");
    expect("[\n{\"n\": 1},\n{\"n\": 2}\n]\n", false, "1=1 2=2");
    expect("[]", false, "");
}

Test(cli_files, reads_json_lines)
{
    expect("{\"n\": 1}\n{\"n\": 2}\n\n{\"n\": 3}", false, "1=1 2=2 4=3");
    expect("{\"n\": 1}\n{bad\n{\"n\": 3}\n", false, "1=1 2! 3=3");
    expect("{\"n\": 1}\n{\"n\": 2, \"n\": 2}\n", false, "1=1 2!");
    expect("{bad\n{\"n\": 3}\n", true, "1! 2=3");
    expect("", false, "");
    expect("", true, "");
}

Test(cli_files, reports_documents_that_are_not_json)
{
    expect("{\n  \"n\":\n", false, "1!");
    expect("hello\n", false, "1!");
}

Test(cli_files, creates_the_rejects_file_with_the_first_reject)
{
    struct error error = {0};
    struct rejects rejects;
    char folder[] = "/tmp/reeve-rejects-XXXXXX", path[128], file[128];
    char *content = NULL;
    size_t size = 0;
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/a.csv", folder);
    snprintf(file, sizeof(file), "%s/a.csv.rejects.csv", folder);
    cr_assert(files_write_atomic(file, TEXT("of an earlier import"), &error) == ERROR_OK);
    cr_assert(rejects_init(&rejects, path, &error) == ERROR_OK);
    cr_assert(!files_exists(file));
    cr_assert(rejects_add(&rejects, 7, TEXT("C1"), "no order", &error) == ERROR_OK);
    cr_assert(rejects_add(&rejects, 9, TEXT("a,b"), "say \"why\"", &error) == ERROR_OK);
    /* A spreadsheet takes it for a formula. */
    cr_assert(rejects_add(&rejects, 11, TEXT("=HYPERLINK(1)"), "no order", &error) == ERROR_OK);
    cr_assert(rejects.rows == 3);
    cr_assert(rejects_close(&rejects, &error) == ERROR_OK);
    cr_assert(files_read(file, 1000, &content, &size, &error) == ERROR_OK);
    cr_assert_str_eq(content, "line,order_id,reason\n7,C1,no order\n"
                              "9,\"a,b\",\"say \"\"why\"\"\"\n"
                              "11,'=HYPERLINK(1),no order\n");
    free(content);
    cr_assert(files_remove_tree(folder, &error) == ERROR_OK);
}

Test(cli_files, shows_durations)
{
    char text[PROGRESS_DURATION_SIZE];
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0 s"},          {59.4, "59 s"},      {59.6, "1 min 0 s"},
                 {190, "3 min 10 s"}, {7500, "2 h 5 min"}, {1e300, "277777 h 46 min"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        progress_duration(cases[i].seconds, text);
        cr_assert_str_eq(text, cases[i].text);
    }
}
