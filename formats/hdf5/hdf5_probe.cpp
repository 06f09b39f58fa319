#include "formats/hdf5/hdf5_probe.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/hdf5_describe.hpp"
#include "formats/hdf5/hdf5_library.hpp"

namespace shale {

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

Hdf5Description probe_hdf5_file(const InputFile& file, const WalkProgress& progress) {
  Hdf5DescriptionReader description(file.size());
  // The descriptor, not the path: the same file, whatever has become of its name.
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  run_hdf5_child(
      file, child_limits_for(file.size()),
      [&](const SendMessage& send) { describe_hdf5_file(path, send); },
      [&](Bytes message) { description.take(message); },
      [&] {
        if (progress) progress(0, file.size());
      });
  return description.finish();
}

}  // namespace shale
