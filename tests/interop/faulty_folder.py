"""Shows a folder through FUSE, where chosen requests fail:

    python3 faulty_folder.py FOLDER MOUNTPOINT LOG REQUESTS ERRNO SKIP TIMES

REQUESTS (read,write,open,create,fsync,mkdir,rename; commas) fail with ERRNO, TIMES of them (0: all) after the first SKIP; each leaves a
line in LOG. Unlike calls of a library, requests of io_uring come by here.
"""

import errno
import os
import sys

import mfusepy


class FaultyFolder(mfusepy.Operations):
    use_ns = True

    def __init__(self, folder, log, requests, error, skip, times):
        self.folder, self.log, self.requests = folder, log, requests.split(",")
        self.error, self.skip, self.times, self.met = int(error), int(skip), int(times), 0

    def place(self, path):
        return self.folder + path

    def strike(self, request, path):
        if request not in self.requests:
            return
        number, self.met = self.met, self.met + 1
        if number < self.skip or (self.times > 0 and number >= self.skip + self.times):
            return
        with open(self.log, "a") as log:
            log.write(f"{request} {path}\n")
        raise mfusepy.FuseOSError(self.error)

    def getattr(self, path, fh=None):
        facts = os.lstat(self.place(path))
        names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks", "st_dev", "st_rdev")
        times = {name: getattr(facts, name + "_ns") for name in ("st_atime", "st_mtime", "st_ctime")}
        return {name: getattr(facts, name) for name in names} | times

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self.place(path))]

    def open(self, path, flags):
        self.strike("open", path)
        return os.open(self.place(path), flags & ~(os.O_DIRECT | os.O_NOFOLLOW))

    def create(self, path, mode, fi=None):
        self.strike("create", path)
        return os.open(self.place(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def read(self, path, size, offset, fh):
        self.strike("read", path)
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        self.strike("write", path)
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self.place(path), length)

    def fsync(self, path, datasync, fh):
        self.strike("fsync", path)
        os.fsync(fh)

    def fsyncdir(self, path, datasync, fh):
        pass

    def release(self, path, fh):
        os.close(fh)

    def mkdir(self, path, mode):
        self.strike("mkdir", path)
        os.mkdir(self.place(path), mode)

    def rmdir(self, path):
        os.rmdir(self.place(path))

    def unlink(self, path):
        os.unlink(self.place(path))

    def rename(self, old, new):
        self.strike("rename", new)
        os.rename(self.place(old), self.place(new))

    def statfs(self, path):
        facts = os.statvfs(self.place(path))
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")
        return {name: getattr(facts, name) for name in names}

    def access(self, path, amode):
        if not os.access(self.place(path), amode):
            raise mfusepy.FuseOSError(errno.EACCES)


if __name__ == "__main__":
    shown, mountpoint, *options = sys.argv[1:]
    mfusepy.FUSE(FaultyFolder(shown, *options), mountpoint, foreground=True, nothreads=True, direct_io=True)
