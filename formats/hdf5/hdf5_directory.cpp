#include "formats/hdf5/hdf5_directory.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/hdf5/hdf5_metadata.hpp"
#include "formats/hdf5/hdf5_types.hpp"

namespace shale {
namespace {

using Role = Hdf5Column::Role;

// A dataset as its header describes it.
struct FoundDataset {
  std::uint64_t address = 0;  // of the header
  std::vector<std::uint64_t> sides;
  std::string type;
  ContiguousData data;
};

class DirectoryReader {
 public:
  DirectoryReader(const InputFile& file, const Hdf5Plan& plan, const FindingSink& findings)
      : file_(file), name_(file.name()), plan_(plan), findings_(findings) {}

  std::optional<ShardDirectory> read() {
    try {
      const Superblock superblock = read_superblock(file_);
      if (!check_end(superblock)) return std::nullopt;
      read_links(superblock.root_address);
    } catch (const Error& error) {
      report_error(error, "");
      return std::nullopt;
    }
    std::vector<FoundDataset> found(plan_.columns.size());
    for (std::size_t i = 0; i < found.size(); ++i) read_dataset(plan_.columns[i], found[i]);
    report_strangers();
    if (is_lost_) return std::nullopt;
    return check_datasets(found);
  }

 private:
  Finding finding(std::string message, std::optional<std::uint64_t> offset) const {
    Finding made;
    made.message = std::move(message);
    made.file = name_;
    made.offset = offset;
    return made;
  }

  void lose(Finding what, std::string field = {}, std::string found = {},
            std::string expected = {}) {
    is_lost_ = true;
    what.field = std::move(field);
    what.found = std::move(found);
    what.expected = std::move(expected);
    findings_(std::move(what));
  }

  void report_error(const Error& error, const std::string& dataset) {
    if (!is_about_bytes(error)) throw error;
    const std::string about =
        dataset.empty() ? "" : fmt::format("dataset '{}' cannot be read: ", printable(dataset));
    lose(finding(about + error.message(), error.offset()), dataset);
  }

  bool check_end(const Superblock& superblock) {
    if (superblock.end_of_file == file_.size()) return true;
    lose(finding("the superblock has a different end of file", 28), "",
         fmt::format("{} bytes", file_.size()), fmt::format("{} bytes", superblock.end_of_file));
    return false;
  }

  void read_links(std::uint64_t root) {
    for (const HeaderMessage& message : read_object_header(file_, root, kMaxRootBytes)) {
      const bool is_dense =
          message.type == MessageType::symbol_table ||
          (message.type == MessageType::link_info && !has_compact_links(message, file_.path()));
      if (is_dense) {
        throw Error(Code::unsupported, "the links of the root group lie outside its header")
            .at(file_.path(), message.offset);
      }
      if (message.type != MessageType::link) continue;
      const std::optional<HardLink> link = read_link(message, file_.path());
      if (!link) {
        throw Error(Code::unsupported, "the root group has a link that is not a hard link")
            .at(file_.path(), message.offset);
      }
      if (!links_.emplace(link->name, link->address).second) {
        throw Error(Code::damaged, "the root group has dataset '{}' twice", printable(link->name))
            .at(file_.path(), message.offset);
      }
    }
  }

  void report_strangers() {
    if (links_.empty()) return;
    const auto& [name, address] = *links_.begin();
    Finding stranger = finding("datasets that the schema does not have", address);
    stranger.found = fmt::format("{}, one of them '{}'", links_.size(), printable(name));
    findings_(std::move(stranger));
  }

  // Takes the column's link out of links_.
  void read_dataset(const Hdf5Column& column, FoundDataset& found) {
    const auto link = links_.extract(column.name);
    if (link.empty()) {
      lose(finding(fmt::format("dataset '{}' is missing", printable(column.name)), std::nullopt),
           column.name);
      return;
    }
    found.address = link.mapped();
    try {
      read_header(found);
    } catch (const Error& error) {
      report_error(error, column.name);
    }
  }

  void read_header(FoundDataset& found) const {
    int seen = 0;
    for (const HeaderMessage& message :
         read_object_header(file_, found.address, kMaxDatasetBytes)) {
      switch (message.type) {
        case MessageType::dataspace:
          found.sides = read_dataspace(message, file_.path());
          seen |= 1;
          break;
        case MessageType::datatype:
          found.type = (message.flags & 2) != 0 ? "a named type" : datatype_name(message.body);
          seen |= 2;
          break;
        case MessageType::layout:
          found.data = read_layout(message, file_.path());
          seen |= 4;
          break;
        case MessageType::filters:
        case MessageType::external_files:
          throw Error(Code::unsupported, "its values are filtered or stored in another file")
              .at(file_.path(), message.offset);
        default:
          break;  // attributes, fill value, times: they move nothing
      }
    }
    if (seen == 7) return;
    throw Error(Code::damaged, "its header lacks dataspace, datatype or layout")
        .at(file_.path(), found.address);
  }

  std::optional<ShardDirectory> check_datasets(const std::vector<FoundDataset>& found) {
    ShardDirectory directory;
    const std::vector<std::uint64_t>& keys = found.back().sides;  // of key_offset
    if (keys.size() == 1 && keys[0] > 0) directory.samples = keys[0] - 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Hdf5Column& column = plan_.columns[i];
      check_type(column, found[i]);
      check_sides(column, found[i], directory.samples);
      directory.extents.push_back(check_extent(column, found[i]));
    }
    check_overlaps(directory.extents);
    if (is_lost_) return std::nullopt;
    return directory;
  }

  void check_type(const Hdf5Column& column, const FoundDataset& found) {
    if (found.type == column.dtype.descr()) return;
    lose(finding(fmt::format("dataset '{}' has a different type", printable(column.name)),
                 found.address),
         column.name, dtype_text(found.type), dtype_text(column.dtype));
  }

  void check_sides(const Hdf5Column& column, const FoundDataset& found, std::uint64_t samples) {
    const std::vector<std::uint64_t> expected =
        column.sides(samples, column.part_bytes_of(found.data.bytes));
    if (found.sides == expected) return;
    lose(finding(fmt::format("dataset '{}' has a different shape", printable(column.name)),
                 found.address),
         column.name, shape_text(found.sides), shape_text(expected));
  }

  // The product of the sides, checked by division; nullopt if it is larger than the file.
  [[nodiscard]] std::optional<std::uint64_t> bytes_of_sides(const Hdf5Column& column,
                                                            const FoundDataset& found) const {
    if (std::find(found.sides.begin(), found.sides.end(), 0U) != found.sides.end()) return 0;
    std::uint64_t bytes = column.dtype.item_bytes();
    for (const std::uint64_t side : found.sides) {
      if (side > file_.size() / bytes) return std::nullopt;
      bytes *= side;
    }
    return bytes;
  }

  ColumnExtent check_extent(const Hdf5Column& column, const FoundDataset& found) {
    const std::optional<std::uint64_t> expected = bytes_of_sides(column, found);
    if (expected != found.data.bytes) {
      lose(finding(
               fmt::format("size of dataset '{}' does not match its shape", printable(column.name)),
               found.address),
           column.name, fmt::format("{} bytes", found.data.bytes),
           expected ? fmt::format("{} bytes", *expected)
                    : fmt::format("at most {} bytes", file_.size()));
      return {};
    }
    if (found.data.bytes == 0) return {};
    const std::uint64_t left =
        found.data.address < file_.size() ? file_.size() - found.data.address : 0;
    if (found.data.bytes <= left) return {found.data.address, found.data.bytes};
    lose(finding(
             fmt::format("dataset '{}' reaches beyond the end of the file", printable(column.name)),
             found.address),
         column.name, fmt::format("{} bytes at byte {}", found.data.bytes, found.data.address),
         fmt::format("at most {} bytes there", left));
    return {};
  }

  void check_overlaps(const std::vector<ColumnExtent>& extents) {
    std::vector<std::pair<std::uint64_t, std::size_t>> begins;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i].length > 0) begins.emplace_back(extents[i].offset, i);
    }
    std::sort(begins.begin(), begins.end());
    std::uint64_t end = kSuperblockBytes;
    for (const auto& [begin, i] : begins) {
      if (begin < end) {
        const std::string& name = plan_.columns[i].name;
        lose(finding(fmt::format("dataset '{}' overlaps something else", printable(name)), begin),
             name, fmt::format("byte {}", begin), fmt::format("byte {} or later", end));
      }
      end = std::max(end, begin + extents[i].length);
    }
  }

  const InputFile& file_;
  std::string name_;
  const Hdf5Plan& plan_;
  const FindingSink& findings_;
  std::map<std::string, std::uint64_t> links_;  // datasets that no column has claimed
  bool is_lost_ = false;
};

}  // namespace

std::optional<ShardDirectory> read_shard_directory(const InputFile& file, const Hdf5Plan& plan,
                                                   const FindingSink& findings) {
  return DirectoryReader(file, plan, findings).read();
}

std::optional<Schema> recognize_own_hdf5(const InputFile& file, const WalkProgress&) {
  try {
    std::optional<Schema> schema;
    const std::uint64_t root = read_superblock(file).root_address;
    for (const HeaderMessage& message : read_object_header(file, root, kMaxRootBytes)) {
      if (message.type != MessageType::attribute) continue;
      const std::optional<Attribute> attribute = read_attribute(message, file.path());
      if (attribute && attribute->name == kSchemaAttribute && attribute->sides.empty())
        schema = parse_schema_text(as_text(attribute->value));
    }
    if (!schema) return std::nullopt;
    bool is_sound = true;
    const FindingSink note = [&](const Finding&) { is_sound = false; };
    const auto directory = read_shard_directory(file, plan_columns(*schema), note);
    return directory && is_sound ? schema : std::nullopt;
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::bug) throw;
    return std::nullopt;  // of damage the library tells more
  }
}

}  // namespace shale
