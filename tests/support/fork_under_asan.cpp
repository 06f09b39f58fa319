// What reads files of others forks (lib/shale/io/limited_child). glibc's malloc is at rest in the
// child; that of clang's AddressSanitizer is so only since LLVM 17: before, a thread that allocates
// meanwhile leaves a lock behind that the child waits for. Linked into what is built with it.

#include <pthread.h>

namespace __lsan {  // NOLINT: the runtime's own name
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan

namespace {

const int kRegistered =
    ::pthread_atfork(__lsan::LockAllocator, __lsan::UnlockAllocator, __lsan::UnlockAllocator);

}  // namespace
