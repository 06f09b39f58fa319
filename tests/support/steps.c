// Preloaded into shale: counts the calls that change what is on disk, and kills the process at one
// of them, or records them.
//   STEPS_LOG=FILE  a line per call, before it: number, name, path (and second path)
//   STEPS_KILL=N    SIGKILL instead of the call of this number, from 1; STEPS_STOP=N: SIGSTOP first
//   STEPS_SAVE=DIR  with STEPS_LOG: what a file holds when it is synced is copied to DIR/NUMBER, and
//                   what a journal's tail holds before each write
// Only calls below STEPS_UNDER (a folder) count. tests/support/steps.py compiles and uses it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static long g_count;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int counts(const char* path) {
  const char* under = getenv("STEPS_UNDER");
  return path != NULL && under != NULL && strncmp(path, under, strlen(under)) == 0;
}

static const char* path_of(int descriptor, char* into) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, into, PATH_MAX - 1);
  if (length < 0) return NULL;
  into[length] = 0;
  return strstr(into, " (deleted)") != NULL ? NULL : into;
}

static void save(const char* from, long number) {
  const char* folder = getenv("STEPS_SAVE");
  struct stat facts;
  if (folder == NULL || stat(from, &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  char to[PATH_MAX], buffer[65536];
  snprintf(to, sizeof to, "%s/%ld", folder, number);
  const int in = REAL(open)(from, O_RDONLY),
            out = REAL(open)(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (ssize_t got; (got = read(in, buffer, sizeof buffer)) > 0;)
    if (syscall(SYS_write, out, buffer, got) != got) abort();
  close(in);
  close(out);
}

// Before the call: the process may end here. For a sync what it makes durable is saved.
static void step(const char* name, const char* path, const char* other) {
  if (!counts(path)) return;
  const int error = errno;
  pthread_mutex_lock(&g_mutex);
  const long number = ++g_count;
  const char *log = getenv("STEPS_LOG"), *kill_at = getenv("STEPS_KILL"),
             *stop_at = getenv("STEPS_STOP");
  if (kill_at != NULL && atol(kill_at) == number) syscall(SYS_kill, getpid(), SIGKILL);
  if (stop_at != NULL && atol(stop_at) == number) syscall(SYS_kill, getpid(), SIGSTOP);
  if (log != NULL) {
    char line[3 * PATH_MAX];
    const int length = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", number, name, path,
                                other != NULL ? other : "");
    const int descriptor = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (syscall(SYS_write, descriptor, line, length) != length) abort();
    close(descriptor);
    const size_t length_of_path = strlen(path);
    const int is_tail = length_of_path > 5 && strcmp(path + length_of_path - 5, ".tail") == 0;
    if (strcmp(name, "sync") == 0 || (is_tail && strcmp(name, "write") == 0)) save(path, number);
  }
  pthread_mutex_unlock(&g_mutex);
  errno = error;
}

static void step_on(const char* name, int descriptor) {
  char path[PATH_MAX];
  const int error = errno;
  step(name, path_of(descriptor, path), NULL);
  errno = error;
}

int fsync(int descriptor) {
  step_on("sync", descriptor);
  return REAL(fsync)(descriptor);
}
int fdatasync(int descriptor) {
  step_on("sync", descriptor);
  return REAL(fdatasync)(descriptor);
}
static int sync_entry(const char* path, const struct stat* facts, int type, struct FTW* place) {
  (void)facts, (void)type, (void)place;
  step("sync", path, NULL);
  return 0;
}
// Of all below the folder: a sync of each.
int syncfs(int descriptor) {
  const char* under = getenv("STEPS_UNDER");
  if (under != NULL) nftw(under, sync_entry, 16, FTW_PHYS);
  return REAL(syncfs)(descriptor);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  step_on("write", descriptor);
  return REAL(pwrite)(descriptor, bytes, count, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t offset) {
  step_on("write", descriptor);
  return REAL(pwrite64)(descriptor, bytes, count, offset);
}
int ftruncate(int descriptor, off_t length) {
  step_on("truncate", descriptor);
  return REAL(ftruncate)(descriptor, length);
}
int ftruncate64(int descriptor, off64_t length) {
  step_on("truncate", descriptor);
  return REAL(ftruncate64)(descriptor, length);
}
int rename(const char* from, const char* to) {
  step("rename", from, to);
  return REAL(rename)(from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  step("link", to, from);
  return REAL(linkat)(from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) {
  struct stat facts;
  if (lstat(path, &facts) == 0) step("unlink", path, NULL);
  return REAL(unlink)(path);
}
int remove(const char* path) {
  struct stat facts;
  if (lstat(path, &facts) == 0) step("unlink", path, NULL);
  return REAL(remove)(path);
}
int rmdir(const char* path) {
  step("rmdir", path, NULL);
  return REAL(rmdir)(path);
}
int mkdir(const char* path, mode_t mode) {
  struct stat facts;
  if (lstat(path, &facts) != 0) step("mkdir", path, NULL);
  return REAL(mkdir)(path, mode);
}

static int opened(const char* path, int flags) {
  struct stat facts;
  return (flags & O_CREAT) != 0 && (flags & O_TMPFILE) != O_TMPFILE && lstat(path, &facts) != 0;
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (opened(path, flags)) step("create", path, NULL);
  return REAL(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (opened(path, flags)) step("create", path, NULL);
  return REAL(open64)(path, flags, mode);
}

// renameat2 is called by its number. Up to six arguments, whatever they are.
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(more, long);
  va_end(more);
  if (number == SYS_renameat2) step("rename", (const char*)a[1], (const char*)a[3]);
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
