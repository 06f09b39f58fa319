#pragma once

namespace shale::python {

/// Calls `act` with `data`. If the thread is ended in it by pthread_exit(), the thread waits for
/// the end of the process instead, and nothing above this call is unwound.
///
/// Compiled without exceptions: glibc then jumps here and asks no C++ run time, of which there may
/// be one per module, to unwind the frames of another. `act` has nothing to destroy.
void run_or_park(void (*act)(void*), void* data);

}  // namespace shale::python
