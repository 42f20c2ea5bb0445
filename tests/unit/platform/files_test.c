/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/files.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/reeve-files-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
    struct error error = {0};
    cr_assert(files_remove_tree(folder, &error) == ERROR_OK, "%s", error.message);
}

TestSuite(files, .init = make_folder, .fini = remove_folder);

static const char *in_folder(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

Test(files, makes_directories_with_their_parents)
{
    struct error error = {0};
    cr_assert(files_make_dirs(in_folder("a/b/c"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(files_make_dirs(in_folder("a/b/c/"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(files_exists(in_folder("a/b/c")));
    cr_assert(files_write_atomic(in_folder("a/file"), TEXT("x"), &error) == ERROR_OK);
    cr_assert(files_make_dirs(in_folder("a/file/d"), &error) == ERROR_FATAL);
    cr_assert(strstr(error.message, "a/file") != NULL, "%s", error.message);
    cr_assert(files_make_dirs("", &error) == ERROR_FATAL);
}

Test(files, adds_up_what_a_directory_holds)
{
    struct error error = {0};
    cr_assert_eq(files_tree_bytes(folder), 0);
    cr_assert(files_make_dirs(in_folder("a/b"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(files_write_atomic(in_folder("one"), TEXT("x"), &error) == ERROR_OK);
    cr_assert(files_write_atomic(in_folder("a/b/three"), TEXT("xyz"), &error) == ERROR_OK);
    cr_assert(symlink(in_folder("one"), in_folder("a/link")) == 0);
    cr_assert_eq(files_tree_bytes(folder), 4);
    cr_assert_eq(files_tree_bytes(in_folder("missing")), 0);
}

Test(files, replaces_files_and_reads_them_back)
{
    struct error error = {0};
    char *content = NULL;
    size_t size = 0;
    const char *path = in_folder("value");
    cr_assert(files_write_atomic(path, TEXT("first"), &error) == ERROR_OK);
    cr_assert(files_write_atomic(path, TEXT("second\n"), &error) == ERROR_OK);
    cr_assert(files_read(path, 7, &content, &size, &error) == ERROR_OK);
    cr_assert(size == 7);
    cr_assert_str_eq(content, "second\n");
    free(content);
    cr_assert(files_read(path, 6, &content, &size, &error) == ERROR_FATAL);
    cr_assert(strstr(error.message, ": the limit is 6 bytes") != NULL, "%s", error.message);
    cr_assert(files_read(in_folder("none"), 6, &content, &size, &error) == ERROR_FATAL);
    cr_assert(strstr(error.message, "No such file") != NULL);
    cr_assert(files_write_atomic(in_folder("none/x"), TEXT("x"), &error) == ERROR_FATAL);
}

Test(files, reads_long_files_completely)
{
    enum { SIZE = 100001 };
    char *written = malloc(SIZE);
    char *content = NULL;
    size_t size = 0;
    memset(written, 'x', SIZE);
    const char *path = in_folder("long");
    cr_assert(files_write_atomic(path, (struct text){written, SIZE}, NULL) == ERROR_OK);
    cr_assert(files_read(path, 1 << 20, &content, &size, NULL) == ERROR_OK);
    cr_assert(size == SIZE && memcmp(content, written, SIZE) == 0);
    free(content);
    free(written);
}

Test(files, removes_a_tree_but_not_the_targets_of_its_links)
{
    struct error error = {0};
    cr_assert(files_make_dirs(in_folder("tree/a/b"), &error) == ERROR_OK);
    cr_assert(files_make_dirs(in_folder("outside"), &error) == ERROR_OK);
    cr_assert(files_write_atomic(in_folder("outside/kept"), TEXT("x"), &error) == ERROR_OK);
    cr_assert(files_write_atomic(in_folder("tree/a/b/file"), TEXT("x"), &error) == ERROR_OK);
    cr_assert(symlink(in_folder("outside"), in_folder("tree/a/link")) == 0);
    cr_assert(symlink(in_folder("outside"), in_folder("link")) == 0);

    cr_assert(files_remove_tree(in_folder("link"), &error) == ERROR_FATAL);
    cr_assert(files_remove_tree(in_folder("tree"), &error) == ERROR_OK, "%s", error.message);
    cr_assert(!files_exists(in_folder("tree")));
    cr_assert(files_exists(in_folder("outside/kept")));
    cr_assert(files_remove_tree(in_folder("tree"), &error) == ERROR_OK);
}

Test(files, reports_the_free_space)
{
    struct error error = {0};
    int64_t bytes = -1;
    cr_assert(files_free_bytes(folder, &bytes, &error) == ERROR_OK);
    cr_assert(bytes > 0);
    cr_assert(files_free_bytes(in_folder("none"), &bytes, &error) == ERROR_FATAL);
}

Test(files, lets_one_process_hold_the_lock)
{
    struct error error = {0};
    int lock = -1;
    int second = -1;
    cr_assert(files_lock(folder, &lock, &error) == ERROR_OK, "%s", error.message);
    /* Another open file description, as another process would have. */
    cr_assert(files_lock(folder, &second, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_DIRECTORY_IN_USE);
    char pid[32];
    snprintf(pid, sizeof(pid), "pid %ld", (long)getpid());
    cr_assert(strstr(error.message, pid) != NULL, "%s", error.message);
    files_unlock(lock);
    cr_assert(files_lock(folder, &second, &error) == ERROR_OK);
    files_unlock(second);
    files_unlock(-1);
}

Test(files, replaces_the_text_of_the_last_holder)
{
    struct error error = {0};
    FILE *file = fopen(in_folder("lock"), "w");
    cr_assert(file != NULL && fputs("1234567890123\n", file) >= 0 && fclose(file) == 0);
    int lock = -1;
    cr_assert(files_lock(folder, &lock, &error) == ERROR_OK, "%s", error.message);
    char expected[32];
    char text[32] = "";
    int size = snprintf(expected, sizeof(expected), "%ld\n", (long)getpid());
    cr_assert(pread(lock, text, sizeof(text) - 1, 0) == size);
    cr_assert_str_eq(text, expected);
    files_unlock(lock);
}

Test(files, releases_the_lock_of_a_killed_process)
{
    int ready[2];
    cr_assert(pipe(ready) == 0);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        int lock = -1;
        bool held = files_lock(folder, &lock, NULL) == ERROR_OK;
        (void)!write(ready[1], held ? "y" : "n", 1);
        for (;;)
            pause();
    }
    char held = 'n';
    int lock = -1;
    cr_assert(read(ready[0], &held, 1) == 1 && held == 'y');
    cr_assert(files_lock(folder, &lock, NULL) == ERROR_FATAL);
    cr_assert(kill(child, SIGKILL) == 0);
    cr_assert(waitpid(child, NULL, 0) == child);
    cr_assert(files_lock(folder, &lock, NULL) == ERROR_OK);
    files_unlock(lock);
    close(ready[0]);
    close(ready[1]);
}
