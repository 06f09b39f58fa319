// A library to be preloaded (LD_PRELOAD): makes the n-th call to the storage fail, be short, or be interrupted.
//
//   FAULT_CALLS   kinds of calls, with commas: read write open create stat sync rename mkdir unlink truncate list
//   FAULT_PATH    a part of the path that a call must concern; of a descriptor, the path that the system knows it by
//   FAULT_SKIP    how many such calls go well first
//   FAULT_TIMES   how many then fail; 0: all; -1: none, they are only logged
//   FAULT_ERROR   an errno, or 0: reads and writes move half of what was asked for
//   FAULT_LOG     a file that gets a line for each fault (call, path) behind 16 bytes; it is mapped, so that no limit on files concerns it
//   FAULT_RING    "no": io_uring_setup fails with ENOSYS, for the calls of a ring pass by this library
//
// The count is one for the process and all that it forks.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG_BYTES (1 << 22)

static const char *calls, *part;
static long skip, times, error_number;
static struct {
  atomic_long met, length;
  char text[LOG_BYTES - 2 * sizeof(long)];
}* shared;

static void refuse_io_uring(void) {
  struct sock_filter rows[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rows / sizeof *rows, rows};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

static long number_in(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

__attribute__((constructor)) static void begin(void) {
  const int log = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAULT_LOG"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (log < 0 || syscall(SYS_ftruncate, log, LOG_BYTES) != 0) abort();
  shared = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, log, 0);
  if (shared == MAP_FAILED) abort();
  syscall(SYS_close, log);
  part = getenv("FAULT_PATH");
  skip = number_in("FAULT_SKIP");
  times = number_in("FAULT_TIMES");
  error_number = number_in("FAULT_ERROR");
  const char* ring = getenv("FAULT_RING");
  if (ring != NULL && strcmp(ring, "no") == 0) refuse_io_uring();
  calls = getenv("FAULT_CALLS");  // last: from here on calls are counted
}

static int is_named(const char* group) {
  if (calls == NULL) return 0;
  const size_t length = strlen(group);
  for (const char* at = calls; (at = strstr(at, group)) != NULL; at += length) {
    if ((at == calls || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
  }
  return 0;
}

// Whether this call is one that fails.
static int strikes(const char* group, const char* path) {
  if (!is_named(group) || path == NULL || (part != NULL && strstr(path, part) == NULL)) return 0;
  const long number = atomic_fetch_add(&shared->met, 1);
  if (number < skip || (times > 0 && number >= skip + times)) return 0;
  char line[4200];
  const long length = snprintf(line, sizeof line, "%s %s\n", group, path);
  const long begin = atomic_fetch_add(&shared->length, length);
  if (begin + length <= (long)sizeof shared->text) memcpy(shared->text + begin, line, (size_t)length);
  return times >= 0;
}

static int strikes_descriptor(const char* group, int descriptor) {
  if (!is_named(group)) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strikes(group, path);
}

// What is moved of `wanted` bytes: -1, nothing; past the page cache whole pages only.
static ssize_t moved(int descriptor, size_t wanted) {
  if (error_number != 0) {
    errno = (int)error_number;
    return -1;
  }
  const size_t half = wanted / 2;
  if ((fcntl(descriptor, F_GETFL) & O_DIRECT) != 0) return half < 4096 ? (ssize_t)wanted : (ssize_t)(half / 4096 * 4096);
  return half == 0 ? (ssize_t)wanted : (ssize_t)half;
}

static int failed(void) {
  errno = error_number != 0 ? (int)error_number : EINTR;
  return -1;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, #name)

#define MOVES(name, group, buffer) \
  ssize_t name(int descriptor, buffer bytes, size_t count) { \
    REAL(name); \
    if (!strikes_descriptor(group, descriptor)) return real(descriptor, bytes, count); \
    const ssize_t some = moved(descriptor, count); \
    return some < 0 ? -1 : real(descriptor, bytes, (size_t)some); \
  }
#define MOVES_AT(name, group, buffer, place) \
  ssize_t name(int descriptor, buffer bytes, size_t count, place offset) { \
    REAL(name); \
    if (!strikes_descriptor(group, descriptor)) return real(descriptor, bytes, count, offset); \
    const ssize_t some = moved(descriptor, count); \
    return some < 0 ? -1 : real(descriptor, bytes, (size_t)some, offset); \
  }
MOVES(read, "read", void*)
MOVES(write, "write", const void*)
MOVES_AT(pread, "read", void*, off_t)
MOVES_AT(pread64, "read", void*, off64_t)
MOVES_AT(pwrite, "write", const void*, off_t)
MOVES_AT(pwrite64, "write", const void*, off64_t)

#define OF_DESCRIPTOR(name, group, ...) \
  { \
    REAL(name); \
    return strikes_descriptor(group, descriptor) ? failed() : real(__VA_ARGS__); \
  }
int fsync(int descriptor) OF_DESCRIPTOR(fsync, "sync", descriptor)
int syncfs(int descriptor) OF_DESCRIPTOR(syncfs, "sync", descriptor)
int fdatasync(int descriptor) OF_DESCRIPTOR(fdatasync, "sync", descriptor)
int ftruncate(int descriptor, off_t size) OF_DESCRIPTOR(ftruncate, "truncate", descriptor, size)
int ftruncate64(int descriptor, off64_t size) OF_DESCRIPTOR(ftruncate64, "truncate", descriptor, size)
int fstat(int descriptor, struct stat* facts) OF_DESCRIPTOR(fstat, "stat", descriptor, facts)
int fstat64(int descriptor, struct stat64* facts) OF_DESCRIPTOR(fstat64, "stat", descriptor, facts)

#define OF_PATH(name, group, path, ...) \
  { \
    REAL(name); \
    return strikes(group, path) ? failed() : real(__VA_ARGS__); \
  }
int stat(const char* path, struct stat* facts) OF_PATH(stat, "stat", path, path, facts)
int stat64(const char* path, struct stat64* facts) OF_PATH(stat64, "stat", path, path, facts)
int lstat(const char* path, struct stat* facts) OF_PATH(lstat, "stat", path, path, facts)
int lstat64(const char* path, struct stat64* facts) OF_PATH(lstat64, "stat", path, path, facts)
int fstatat(int folder, const char* path, struct stat* facts, int flags) OF_PATH(fstatat, "stat", path, folder, path, facts, flags)
int fstatat64(int folder, const char* path, struct stat64* facts, int flags)
    OF_PATH(fstatat64, "stat", path, folder, path, facts, flags)
int mkdir(const char* path, mode_t mode) OF_PATH(mkdir, "mkdir", path, path, mode)
int unlink(const char* path) OF_PATH(unlink, "unlink", path, path)
int rename(const char* from, const char* to) OF_PATH(rename, "rename", to, from, to)

#define OPENS(name) \
  int name(const char* path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    const mode_t mode = va_arg(more, mode_t); \
    va_end(more); \
    REAL(name); \
    const char* kind = (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ? "create" : "open"; \
    return strikes(kind, path) ? failed() : real(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)

#define LISTS(name, entry) \
  struct entry* name(DIR* folder) { \
    REAL(name); \
    if (!strikes_descriptor("list", dirfd(folder))) return real(folder); \
    (void)failed(); \
    return NULL; \
  }
LISTS(readdir, dirent)
LISTS(readdir64, dirent64)

// musl and older C libraries have no renameat2: shale calls it by its number.
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long words[6];
  for (int i = 0; i < 6; ++i) words[i] = va_arg(more, long);
  va_end(more);
  REAL(syscall);
  if (number == SYS_renameat2 && strikes("rename", (const char*)words[3])) return failed();
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
