// Packs files into an LMDB with liblmdb itself, as fast as its interface allows without a writable map: MDB_NOSYNC and
// MDB_APPEND, a commit every 5000 values, one sync at the end. The peer of `shale convert --to lmdb` in bench/pack.py.
//   lmdb_writer ROOT LIST OUT
// LIST: a line for each file: label, tab, path below ROOT. OUT: the folder to make; data.mdb and lock.mdb will be in it.
// Keys are 8-digit ordinals, values the msgpack maps that shale writes: {"key": bin, "image": bin, "label": int}.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kCommitEvery = 5000, kRoomForTheRest = 64 };

static void fail(const char* what, const char* why) {
  fprintf(stderr, "lmdb_writer: %s: %s\n", what, why);
  exit(1);
}

static void check(int code, const char* call) {
  if (code != MDB_SUCCESS) fail(call, mdb_strerror(code));
}

static uint8_t* put(uint8_t* at, const void* bytes, size_t count) {
  memcpy(at, bytes, count);
  return at + count;
}

// bin32 or uint32: a tag, then the number, big-endian.
static uint8_t* put_u32(uint8_t* at, uint8_t tag, uint32_t number) {
  const uint8_t bytes[] = {tag, number >> 24, number >> 16, number >> 8, number};
  return put(at, bytes, sizeof bytes);
}

// The value of one file, in a buffer that lives until the next call.
static MDB_val value_of(const char* root, const char* path, uint32_t label) {
  static uint8_t* buffer;
  static size_t capacity;
  char name[4096];
  snprintf(name, sizeof name, "%s/%s", root, path);
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  struct stat facts;
  if (fd < 0 || fstat(fd, &facts) != 0) fail(name, strerror(errno));
  const size_t key_bytes = strlen(path), image_bytes = (size_t)facts.st_size;
  if (capacity < key_bytes + image_bytes + kRoomForTheRest) {
    capacity = (key_bytes + image_bytes + kRoomForTheRest) * 2;
    buffer = realloc(buffer, capacity);
    if (buffer == NULL) fail(name, "out of memory");
  }
  uint8_t* at = put(buffer, "\x83\xa3key", 5);
  at = put(put_u32(at, 0xc6, (uint32_t)key_bytes), path, key_bytes);
  at = put_u32(put(at, "\xa5image", 6), 0xc6, (uint32_t)image_bytes);
  for (size_t done = 0; done < image_bytes;) {
    const ssize_t got = read(fd, at + done, image_bytes - done);
    if (got <= 0) fail(name, got == 0 ? "shrank while it was read" : strerror(errno));
    done += (size_t)got;
  }
  close(fd);
  at = put_u32(put(at + image_bytes, "\xa5label", 6), 0xce, label);
  return (MDB_val){(size_t)(at - buffer), buffer};
}

int main(int count, char** words) {
  if (count != 4) fail("usage", "lmdb_writer ROOT LIST OUT");
  const char *root = words[1], *out = words[3];
  FILE* list = fopen(words[2], "r");
  if (list == NULL) fail(words[2], strerror(errno));
  if (mkdir(out, 0755) != 0) fail(out, strerror(errno));

  MDB_env* env;
  check(mdb_env_create(&env), "mdb_env_create");
  check(mdb_env_set_mapsize(env, (size_t)1 << 40), "mdb_env_set_mapsize");
  check(mdb_env_open(env, out, MDB_NOSYNC, 0644), "mdb_env_open");

  MDB_txn* txn = NULL;
  MDB_dbi dbi = 0;
  char line[4096], key_text[16];
  for (unsigned number = 0; fgets(line, sizeof line, list) != NULL; ++number) {
    char* path;
    const unsigned long label = strtoul(line, &path, 10);
    if (*path != '\t') fail(words[2], "a line is not: label, tab, path");
    path[strcspn(path, "\n")] = '\0';
    if (txn == NULL) {
      check(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
      check(mdb_dbi_open(txn, NULL, 0, &dbi), "mdb_dbi_open");
    }
    snprintf(key_text, sizeof key_text, "%08u", number);
    MDB_val key = {8, key_text}, value = value_of(root, path + 1, (uint32_t)label);
    check(mdb_put(txn, dbi, &key, &value, MDB_APPEND), "mdb_put");
    if (number % kCommitEvery == kCommitEvery - 1) {
      check(mdb_txn_commit(txn), "mdb_txn_commit");
      txn = NULL;
    }
  }
  if (txn != NULL) check(mdb_txn_commit(txn), "mdb_txn_commit");
  check(mdb_env_sync(env, 1), "mdb_env_sync");
  mdb_env_close(env);
  fclose(list);
  return 0;
}
