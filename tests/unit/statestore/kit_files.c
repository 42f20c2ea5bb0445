/* SPDX-License-Identifier: Apache-2.0 */
/* See kit_files.h. */
#include "tests/unit/statestore/kit_files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_file(int folder, const char *name, struct kit_files *files)
{
    int fd = openat(folder, name, O_RDONLY);
    if (fd < 0)
        return; /* removed in the meantime */
    cr_assert(files->count < KIT_FILES_MAX);
    struct kit_file *file = &files->files[files->count++];
    snprintf(file->name, sizeof(file->name), "%s", name);
    struct stat info;
    cr_assert(fstat(fd, &info) == 0);
    file->size = (size_t)info.st_size;
    file->bytes = kit_memory(file->size + 1);
    cr_assert(read(fd, file->bytes, file->size) == (ssize_t)file->size);
    close(fd);
}

void kit_read_files(const char *path, struct kit_files *files)
{
    DIR *dir = opendir(path);
    cr_assert(dir != NULL);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_type == DT_REG && strncmp(entry->d_name, "LOG", 3) != 0 &&
            strcmp(entry->d_name, "LOCK") != 0)
            read_file(dirfd(dir), entry->d_name, files);
    }
    closedir(dir);
}

void kit_write_files(const char *path, const struct kit_files *files)
{
    cr_assert(store_drop(path, NULL) == ERROR_OK);
    cr_assert(mkdir(path, 0700) == 0);
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    cr_assert(folder >= 0);
    for (int i = 0; i < files->count; i++) {
        int fd = openat(folder, files->files[i].name, O_WRONLY | O_CREAT, 0600);
        cr_assert(fd >= 0);
        cr_assert(write(fd, files->files[i].bytes, files->files[i].size) ==
                  (ssize_t)files->files[i].size);
        close(fd);
    }
    close(folder);
}
