/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/import/csv.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* All rows as "line:[a|b]", bad ones as "line:!reason". */
static const char *read_all(const char *text, size_t size, char delimiter)
{
    static char result[8192];
    struct csv_row row;
    struct error error = {0};
    size_t used = 0;
    FILE *in = fmemopen((void *)(uintptr_t)text, size, "r");
    cr_assert(in != NULL);
    struct csv_reader *reader = csv_reader_new(in, delimiter);
    result[0] = '\0';
    for (enum csv_result r; (r = csv_reader_next(reader, &row, &error)) != CSV_END;) {
        cr_assert(r == CSV_ROW || r == CSV_BAD_ROW);
        used += (size_t)snprintf(result + used, sizeof(result) - used,
                                 "%s%lld:", used > 0 ? " " : "", (long long)row.line);
        if (r == CSV_BAD_ROW) {
            used += (size_t)snprintf(result + used, sizeof(result) - used, "!%s", error.message);
            continue;
        }
        for (size_t i = 0; i < row.count; i++)
            used += (size_t)snprintf(result + used, sizeof(result) - used, "%s%.*s",
                                     i == 0 ? "[" : "|", TEXT_ARG(row.fields[i]));
        used += (size_t)snprintf(result + used, sizeof(result) - used, "]");
    }
    csv_reader_free(reader);
    fclose(in);
    return result;
}

static void expect(const char *csv, const char *rows)
{
    const char *got = read_all(csv, strlen(csv), ',');
    cr_assert_str_eq(got, rows, "%s: got %s, expected %s", csv, got, rows);
}

Test(cli_csv, splits_rows_into_fields)
{
    expect("a,b\nc,d\n", "1:[a|b] 2:[c|d]");
    expect("a,b\nc,d", "1:[a|b] 2:[c|d]");
    expect("a", "1:[a]");
    expect(",\n,,\n", "1:[|] 2:[||]");
    expect("a,\n", "1:[a|]");
    expect("\n\na\n\n", "3:[a]");
    expect("\n", "");
}

Test(cli_csv, unquotes_fields)
{
    expect("\"a\",\"b,c\"\n", "1:[a|b,c]");
    expect("\"say \"\"hi\"\"\",x\n", "1:[say \"hi\"|x]");
    expect("\"\",\"\"\n", "1:[|]");
    expect("\"two\nlines\",x\ny,z\n", "1:[two\nlines|x] 3:[y|z]");
    expect("\"\"\"\"\n", "1:[\"]");
    expect("a \"quote\" inside,b\n", "1:[a \"quote\" inside|b]");
    expect("\"a\"", "1:[a]");
}

Test(cli_csv, accepts_line_ends_and_a_byte_order_mark)
{
    expect("a,b\r\nc,d\r\n", "1:[a|b] 2:[c|d]");
    expect("\"a\"\r\n\"b\"\r\n", "1:[a] 2:[b]");
    expect("\"a\r\nb\",c\r\n", "1:[a\r\nb|c]");
    expect("a\rb,c\n", "1:[a\rb|c]");
    expect("\xef\xbb\xbfid,x\n", "1:[id|x]");
    expect("\xef\xbb\xbf\"id\",x\n", "1:[id|x]");
}

Test(cli_csv, accepts_other_delimiters)
{
    cr_assert_str_eq(read_all("a;b,c\n\"d;\";e\n", 12, ';'), "1:[a|b,c] 2:[d;|e]");
    cr_assert_str_eq(read_all("a\tb\n", 4, '\t'), "1:[a|b]");
}

/* A mistake costs the line that it is on, not the rest of the file. */
Test(cli_csv, skips_one_line_for_a_mistake)
{
    expect("a\n\"b\"c,d\ne\n", "1:[a] 2:!not CSV: text after a closing quote 3:[e]");
    expect("a\n\"never closed,b\nc,d\ne\n",
           "1:[a] 2:!not CSV: a quote is never closed 3:[c|d] 4:[e]");
    expect("\"a\" ,b\n", "1:!not CSV: text after a closing quote");
}

Test(cli_csv, bounds_rows)
{
    size_t size = 3 * (size_t)CSV_ROW_BYTES_MAX;
    char *text = malloc(size);
    cr_assert(text != NULL);
    memset(text, 'x', size);
    memcpy(text, "a\n\"", 3);
    memcpy(text + size - 3, "\nb\n", 3);
    const char *rows = read_all(text, size, ',');
    cr_assert(strncmp(rows, "1:[a] 2:!", 9) == 0, "%.100s", rows);
    cr_assert(strstr(rows, " 3:[b]") != NULL, "%.100s", rows);
    free(text);
    char *wide = malloc(2 * CSV_FIELDS_MAX + 1);
    cr_assert(wide != NULL);
    memset(wide, ',', 2 * CSV_FIELDS_MAX);
    cr_assert_str_eq(read_all(wide, 2 * CSV_FIELDS_MAX, ','), "1:!not CSV: too many fields");
    free(wide);
}

/* Rows of every length across the buffer's ends. */
Test(cli_csv, reads_long_files_in_pieces)
{
    FILE *file = tmpfile();
    cr_assert(file != NULL);
    for (int i = 0; i < 20000; i++) {
        fprintf(file, "%d,\"%*d\n\"\"", i, i % 97, i);
        fprintf(file, "\",end\r\n");
    }
    rewind(file);
    struct csv_reader *reader = csv_reader_new(file, ',');
    struct csv_row row;
    struct error error;
    for (int i = 0; i < 20000; i++) {
        char number[16], quoted[128];
        cr_assert(csv_reader_next(reader, &row, &error) == CSV_ROW);
        snprintf(number, sizeof(number), "%d", i);
        snprintf(quoted, sizeof(quoted), "%*d\n\"", i % 97, i);
        cr_assert(row.count == 3 && row.line == 1 + 2 * i);
        cr_assert(text_equal(row.fields[0], text_of(number)));
        cr_assert(text_equal(row.fields[1], text_of(quoted)));
        cr_assert(text_equal(row.fields[2], TEXT("end")));
    }
    cr_assert(csv_reader_next(reader, &row, &error) == CSV_END);
    csv_reader_free(reader);
    fclose(file);
}

Test(cli_csv, reads_what_it_writes)
{
    static const char *const fields[] = {"plain",      "",     "a,b", "say \"hi\"",
                                         "two\nlines", "cr\r", "é"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (i > 0)
            fputc(',', out);
        bool none = fields[i][0] == '\0';
        csv_write_field(out, none ? (struct text){0} : text_of(fields[i]));
    }
    fclose(out);
    FILE *in = fmemopen(text, size, "r");
    struct csv_reader *reader = csv_reader_new(in, ',');
    struct csv_row row;
    struct error error;
    cr_assert(csv_reader_next(reader, &row, &error) == CSV_ROW);
    cr_assert(row.count == sizeof(fields) / sizeof(fields[0]));
    for (size_t i = 0; i < row.count; i++)
        cr_assert(text_equal(row.fields[i], text_of(fields[i])), "%s", fields[i]);
    csv_reader_free(reader);
    fclose(in);
    free(text);
}
