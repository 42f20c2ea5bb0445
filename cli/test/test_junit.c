/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit's XML, as continuous integration reads it: a suite for each file, with its cases. What XML
 * cannot hold is left out. Names of files, and what is cut of them, need not be UTF-8. */
#include "base/utf8.h"
#include "cli/test/test_run.h"

#include <errno.h>
#include <string.h>

/* Control characters, U+FFFE and U+FFFF are not in XML. */
static bool is_in_xml(const char *character, uint32_t size)
{
    if (size == 1)
        return (unsigned char)*character >= ' ' || *character == '\n';
    return size != 3 ||
           (memcmp(character, "\xef\xbf\xbe", 3) != 0 && memcmp(character, "\xef\xbf\xbf", 3) != 0);
}

static void put_character(FILE *out, const char *character, uint32_t size)
{
    if (*character == '&')
        fputs("&amp;", out);
    else if (*character == '<')
        fputs("&lt;", out);
    else if (*character == '>')
        fputs("&gt;", out);
    else if (*character == '"')
        fputs("&quot;", out);
    else if (is_in_xml(character, size))
        fwrite(character, 1, size, out);
}

static void put(FILE *out, struct text text)
{
    for (uint32_t i = 0; i < text.size;) {
        uint32_t size = utf8_character_size((const uint8_t *)text.data + i, (size_t)text.size - i);
        if (size > 0)
            put_character(out, text.data + i, size);
        else
            fputc('?', out);
        i += size > 0 ? size : 1;
    }
}

enum error_class test_junit_open(struct test_junit *junit, const char *path,
                                 struct error *ret_error)
{
    *junit = (struct test_junit){.path = path, .out = fopen(path, "we")};
    if (junit->out == NULL)
        return error_set(ret_error, CODE_FILE_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", junit->out);
    return ERROR_OK;
}

void test_junit_begin_file(const struct test_junit *junit, const char *path)
{
    if (junit->out == NULL)
        return;
    fputs("  <testsuite name=\"", junit->out);
    put(junit->out, text_of(path));
    fputs("\">\n", junit->out);
}

void test_junit_end_file(const struct test_junit *junit)
{
    if (junit->out != NULL)
        fputs("  </testsuite>\n", junit->out);
}

static void begin_case(FILE *out, const char *path, struct text name)
{
    fputs("    <testcase classname=\"", out);
    put(out, text_of(path));
    fputs("\" name=\"", out);
    put(out, name);
}

void test_junit_case(const struct test_junit *junit, const struct test_result *result)
{
    FILE *out = junit->out;
    if (out == NULL)
        return;
    begin_case(out, result->path, result->test->name);
    if (result->difference_count == 0) {
        fputs("\"/>\n", out);
        return;
    }
    fprintf(out, "\" file=\"");
    put(out, text_of(result->path));
    fprintf(out, "\" line=\"%u\">\n      <failure message=\"", result->test->mark.line);
    put(out, result->differences[0].what);
    fprintf(out, "%s\">", result->difference_count > 1 ? " and others" : "");
    for (uint32_t i = 0; i < result->difference_count; i++) {
        put(out, result->differences[i].what);
        fputs("\n  expected  ", out);
        put(out, result->differences[i].expected);
        fputs("\n  actual    ", out);
        put(out, result->differences[i].actual);
        fputs("\n", out);
    }
    for (const struct rehearsal_entry *entry = result->rehearsal->story; entry != NULL;
         entry = entry->next) {
        fputs("\n", out);
        if (!text_equal(entry->order_id, result->test->details.order_id)) {
            put(out, entry->order_id);
            fputs(": ", out);
        }
        put(out, entry->words);
    }
    fputs("</failure>\n    </testcase>\n", out);
}

void test_junit_error(const struct test_junit *junit, const char *path, const char *message)
{
    if (junit->out == NULL)
        return;
    begin_case(junit->out, path, TEXT("can be run"));
    fputs("\">\n      <error message=\"", junit->out);
    put(junit->out, text_of(message));
    fputs("\"/>\n    </testcase>\n", junit->out);
}

enum error_class test_junit_close(struct test_junit *junit, struct error *ret_error)
{
    if (junit->out == NULL)
        return ERROR_OK;
    fputs("</testsuites>\n", junit->out);
    bool failed = ferror(junit->out) != 0;
    failed = fclose(junit->out) != 0 || failed;
    junit->out = NULL;
    return failed ? error_set(ret_error, CODE_FILE_SYSTEM, "cannot write %s", junit->path)
                  : ERROR_OK;
}
