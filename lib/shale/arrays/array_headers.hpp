#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/archive_file.hpp"
#include "shale/io/batch_reader.hpp"

namespace shale {

/// True for what a file's name has behind a dot, "npy" or "pose.npy", if the file is an array.
[[nodiscard]] bool is_array_suffix(std::string_view suffix);

/// What the .npy files beside the samples hold. The headers of all are read, many at once, so that
/// the type of a field depends on no order. One thread. Memory: less than a MiB.
class ArrayHeaders {
 public:
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    ArchivedFile archived = {};
  };

  /// The file of a field. One without an array says nothing: its sample is bad content, which is
  /// found when it is read. Errors: Code::bad_content, naming both, for arrays of another dtype or
  /// number of axes than the first one; Code::io.
  void add(std::size_t field, const std::string& name, File file);
  /// An array whose header has been read, in a file of several. Errors: same as add.
  void add(std::size_t field, const std::string& name, const std::string& path, const DType& dtype,
           const std::vector<std::uint64_t>& shape);
  /// After the last one. Errors: same as add.
  void finish() { read(); }

  /// A tensor; sides that differ are free. Errors: those of the first file, where none has an
  /// array.
  [[nodiscard]] Field type_of(std::size_t field) const;
  /// What the user should know, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Found {
    std::string name;
    std::optional<Field> type;
    std::string first_text, first_path;     // of the first array
    std::optional<Error> first_error = {};  // of the first file without one
    std::uint64_t big_endian = 0;
  };
  void read();
  static void take(Found& found, const std::string& path, const DType& dtype,
                   const std::vector<std::uint64_t>& shape);
  [[nodiscard]] std::vector<std::byte> longer_head(const File& file, std::uint64_t bytes);
  BatchReader reader_{BatchReader::Options{}};
  std::vector<std::pair<std::size_t, File>> files_;  // behind the numbers of their fields
  std::map<std::size_t, Found> found_;
};

}  // namespace shale
