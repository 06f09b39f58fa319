#pragma once

#include <string>

#include "shale/data/schema.hpp"
#include "shale/format/source.hpp"

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

/// An output under a temporary name beside it, held by this process alone. Removed by the
/// destructor unless it was published; what a kill leaves is emptied and taken over by the next run
/// of the same output.
class TemporaryArray {
 public:
  /// Errors: Code::io; Code::exists if another process writes it.
  explicit TemporaryArray(const std::string& output);
  ~TemporaryArray();
  TemporaryArray(const TemporaryArray&) = delete;
  TemporaryArray& operator=(const TemporaryArray&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Gives the file its name, durably; it is whole and durable itself. Errors: Code::io.
  void publish();

 private:
  void take();
  [[nodiscard]] bool still_has_name() const;
  void release();

  std::string output_, path_;
  int lock_ = -1;
  bool is_published_ = false;
};

}  // namespace shale
