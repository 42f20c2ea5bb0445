/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/store_copy.h"

#include "platform/files.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024 };

static void copy_file(int from_dir, int to_dir, const char *name)
{
    static char bytes[COPY_BYTES];
    int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
    int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    assert(from >= 0 && to >= 0);
    ssize_t size;
    while ((size = read(from, bytes, sizeof(bytes))) > 0) {
        ssize_t written = write(to, bytes, (size_t)size);
        assert(written == size);
    }
    assert(size == 0);
    close(from);
    close(to);
}

void store_copy(const char *from, const char *to)
{
    enum error_class class = files_make_dirs(to, NULL);
    assert(class == ERROR_OK);
    int to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = opendir(from);
    assert(to_dir >= 0 && dir != NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            copy_file(dirfd(dir), to_dir, entry->d_name);
    closedir(dir);
    close(to_dir);
}
