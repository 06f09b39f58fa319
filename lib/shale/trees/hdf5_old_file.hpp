#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// The objects of an HDF5 file as h5py writes it unless it is told otherwise, read without the HDF5
/// library: groups with symbol tables, version 1 object headers. Whatever is not of that form is
/// refused: the library reads it. hdf5_old_file.cpp draws the bytes. Not thread-safe.
/// Time: bounded by the file's size. Memory: the links of a group, and 64 KiB.
class Hdf5OldFile {
 public:
  /// A name in a group, and where it is in the file.
  struct Link {
    std::string name;
    FieldPlace place;
    std::uint64_t header = 0;
    bool is_hard = true;
  };
  /// What the elements of a value are, their number, and where the first of them is.
  struct Data {
    std::vector<std::byte> type;       ///< the body of the datatype message
    std::vector<std::uint64_t> sides;  ///< none: a single one
    std::uint64_t offset = kMissing;   ///< kMissing: never written
    std::uint64_t bytes = 0;           ///< stored there, inside the file
  };
  struct Attribute {
    std::string name;
    Data data;
  };
  struct Object {
    bool is_group = false, is_dataset = false;
    std::uint64_t tree = 0, heap = 0;  ///< of a group
    Data data;                         ///< of a dataset
    std::vector<Attribute> attributes;
  };

  /// Errors: Code::unsupported for a file of another form, as all below; Code::damaged; Code::io.
  explicit Hdf5OldFile(const InputFile& file);

  [[nodiscard]] std::uint64_t root() const { return root_; }
  [[nodiscard]] Object object_at(std::uint64_t header);
  /// The links of a group, by name, bytewise.
  [[nodiscard]] std::vector<Link> links_of(const Object& group);
  [[nodiscard]] Bytes view(std::uint64_t offset, std::uint64_t length);

 private:
  struct Heap {
    std::uint64_t offset = 0, length = 0;
  };
  void add_links(std::uint64_t node, const Heap& names, int level, std::vector<Link>& links);
  void add_symbols(std::uint64_t node, const Heap& names, std::vector<Link>& links);
  void read_message(unsigned type, std::uint64_t begin, std::uint64_t bytes, Object& object);
  void read_attribute(std::uint64_t begin, std::uint64_t bytes, Object& object);
  void read_layout(std::uint64_t begin, std::uint64_t bytes, Data& data);
  [[nodiscard]] ByteReader read(std::uint64_t offset, std::uint64_t length);
  void count(std::uint64_t bytes);

  const InputFile& file_;
  WindowReader window_;
  std::uint64_t root_ = 0, counted_ = 0;
};

}  // namespace shale
