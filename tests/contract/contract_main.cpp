#include <cstdlib>

#include <sys/statvfs.h>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

// These tests write thousands of tiny shards, each made durable: in memory, where there is enough
// of it, they take seconds, on a busy disk minutes.
int main(int argc, char** argv) {
  struct statvfs memory {};
  constexpr unsigned long long kEnough = 512ULL << 20;
  if (::statvfs("/dev/shm", &memory) == 0 && memory.f_bavail * memory.f_frsize >= kEnough) {
    ::setenv("TMPDIR", "/dev/shm", 0);
  }
  return doctest::Context(argc, argv).run();
}
