#include "formats/hdf5/hdf5_library.hpp"

#include <array>

namespace shale {
namespace {

// The first message is the innermost, where the fact was known.
extern "C" herr_t keep_innermost(unsigned position, const H5E_error2_t* entry, void* into) {
  if (position != 0) return 0;
  auto& text = *static_cast<std::string*>(into);
  std::array<char, 256> minor{};
  H5E_type_t type{};
  if (H5Eget_msg(entry->min_num, &type, minor.data(), minor.size()) > 0) text = minor.data();
  if (entry->desc != nullptr) text += (text.empty() ? "" : ": ") + std::string(entry->desc);
  return 0;
}

}  // namespace

std::unique_lock<std::mutex> lock_hdf5() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  // Errors are ours to tell; the library's own traces on stderr are kept per thread.
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return lock;
}

std::string hdf5_failure_cause() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &cause);
  return cause;
}

}  // namespace shale
