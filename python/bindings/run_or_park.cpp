#include <pthread.h>
#include <unistd.h>

namespace shale::python {
namespace {

void park(void*) {
  for (;;) ::pause();
}

}  // namespace

void run_or_park(void (*act)(void*), void* data);  // interpreter.hpp needs exceptions

void run_or_park(void (*act)(void*), void* data) {
  pthread_cleanup_push(park, nullptr);
  act(data);
  pthread_cleanup_pop(0);
}

}  // namespace shale::python
