#pragma once

#include <string>

#include "shale/data/schema.hpp"
#include "shale/format/source.hpp"
#include "shale/shards/work_folder.hpp"

// What the commands share that write one .npy file.

namespace shale {

/// The folder that a file is in.
[[nodiscard]] std::string folder_of_file(const std::string& path);

/// Errors: Code::exists for an output that is there, and is not to be overwritten, or a folder.
void refuse_taken_output(const std::string& output, bool overwrite);

/// The field that an input's array would hold. `are_chosen`: the fields were named one by one.
/// Errors: Code::usage for several, naming them; Code::unsupported for values that differ in size.
[[nodiscard]] const Field& only_array_field(const SourceInfo& info, const std::string& output,
                                            bool are_chosen);

/// An output in a work folder beside it, held by this process alone. Removed by the destructor
/// unless it was published; what a kill leaves is removed by the next run of the same output.
class TemporaryArray {
 public:
  /// Errors: as WorkFolder::of_file.
  TemporaryArray(const std::string& output, bool overwrite);
  ~TemporaryArray();
  TemporaryArray(const TemporaryArray&) = delete;
  TemporaryArray& operator=(const TemporaryArray&) = delete;

  /// Where the file is to be created.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Gives the file its name, durably; it is whole and durable itself. Errors: Code::exists for a
  /// name that was taken in the meantime, unless it is to be overwritten; Code::io.
  void publish();

 private:
  const std::string output_;
  const bool overwrite_;
  WorkFolder work_;
  const std::string path_;
};

}  // namespace shale
