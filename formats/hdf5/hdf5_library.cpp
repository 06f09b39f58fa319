#include "formats/hdf5/hdf5_library.hpp"

namespace shale {

std::unique_lock<std::mutex> lock_hdf5() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  // Errors are ours to tell; the library's own traces on stderr are kept per thread.
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return lock;
}

}  // namespace shale
