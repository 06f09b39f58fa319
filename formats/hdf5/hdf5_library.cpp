#include "formats/hdf5/hdf5_library.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kNewerHint =
    "if a newer HDF5 wrote it: h5py.File(..., libver=('v108', 'v110')), or h5repack -j 1 -k 2 OLD "
    "NEW";

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

struct NameList {
  std::vector<std::string> names;
  std::size_t most;
};
extern "C" herr_t keep_name(hid_t, const char* name, const H5L_info_t*, void* into) {
  auto& list = *static_cast<NameList*>(into);
  list.names.emplace_back(name);
  return list.names.size() >= list.most ? 1 : 0;
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

Error hdf5_failure(const std::string& message) {
  const std::string cause = hdf5_failure_cause();
  const bool is_newer = cause.find("bad version number") != std::string::npos ||
                        cause.find("unknown version") != std::string::npos;
  Error error(is_newer ? Code::unsupported : Code::damaged, "{}", message);
  error.because(cause.empty() ? "no reason given" : cause);
  if (is_newer) error.hint(kNewerHint);
  return error;
}

void run_hdf5_child(const InputFile& file, const ChildLimits& limits,
                    const std::function<void(const SendMessage&)>& work,
                    const std::function<void(Bytes)>& take, const std::function<void()>& ask,
                    const NamelessFile* into) {
  std::vector<int> descriptors = {file.descriptor()};
  if (into != nullptr) descriptors.push_back(into->descriptor());
  std::optional<LimitedChild> child;
  {
    // No other thread is inside the library: the child's copy of it is at rest.
    const auto lock = lock_hdf5();
    child.emplace(ChildWork{"the HDF5 library", file.path(), std::move(descriptors), limits, work});
  }
  child->listen(take, ask);
}

std::vector<std::string> hdf5_names_in(hid_t group, std::size_t most, bool takes_damaged) {
  NameList list{.names = {}, .most = most};
  const herr_t result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, &keep_name, &list);
  if (takes_damaged) std::erase(list.names, "");
  if (result < 0 && !takes_damaged)
    throw hdf5_failure("the HDF5 library cannot read the list of objects in a group");
  std::sort(list.names.begin(), list.names.end());
  return std::move(list.names);
}

Hdf5Handle open_hdf5_object(hid_t parent, const std::string& name, const std::string& path) {
  Hdf5Handle object(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (object.is_valid()) return object;
  throw hdf5_failure(fmt::format("the HDF5 library cannot read the object '{}'", printable(path)));
}

bool is_hdf5_hard_link(hid_t group, const std::string& name) {
  H5L_info_t link{};
  return H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

}  // namespace shale
