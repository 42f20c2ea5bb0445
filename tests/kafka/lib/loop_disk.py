# SPDX-License-Identifier: Apache-2.0
"""A small file system that becomes read-only, as ext4 does after an error of its disk. It is a file
that is loop-mounted, which takes root."""

import os
import pathlib
import subprocess
import unittest


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


class LoopDisk:
    """A small ext4 in a file, mounted at `folder`/disk."""

    def __init__(self, folder):
        self.image, self.path = folder / "disk.image", folder / "disk"
        self.path.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(256 << 20)
        run("mkfs.ext4", "-q", "-F", self.image)
        self.mount()

    def mount(self):
        run("mount", "-o", "loop,errors=remount-ro", self.image, self.path)
        source = run("findmnt", "-n", "-o", "SOURCE", "--mountpoint", self.path).strip()
        self.fault = pathlib.Path("/sys/fs/ext4", os.path.basename(source), "trigger_fs_error")

    def unmount(self):
        run("umount", "--lazy", self.path)

    def damage(self):
        """From now on every write fails with EROFS."""
        os.sync()
        self.fault.write_text("1", encoding="ascii")

    def repair(self):
        """Mounts a repaired copy in its place. The services keep the locks of their directories, so
        the kernel keeps the old file system, and would mount that one again."""
        self.unmount()
        old, self.image = self.image, self.image.with_suffix(self.image.suffix + "+")
        run("cp", "--sparse=always", old, self.image)
        subprocess.run(["e2fsck", "-fy", self.image], capture_output=True, check=False)
        self.mount()


def new_disk(folder):
    """Skips the test where the kernel does not let us make one."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("mounting a file system takes root")
    try:
        disk = LoopDisk(folder)
    except OSError as error:
        raise unittest.SkipTest(f"no file system can be mounted: {error}") from None
    if not disk.fault.exists():
        disk.unmount()
        raise unittest.SkipTest(f"this kernel has no {disk.fault}")
    return disk
