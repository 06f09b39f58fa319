#include "formats/hdf5/hdf5_directory.hpp"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/columns/own_directory.hpp"
#include "shale/data/schema_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/trees/hdf5_elements.hpp"
#include "shale/trees/hdf5_metadata.hpp"
#include "shale/wire/hdf5_types.hpp"

#include "formats/hdf5/hdf5_columns.hpp"

namespace shale {
namespace {

ColumnExtent extent_of(const ContiguousData& data) { return {data.address, data.bytes}; }

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
    return check_directory(file_, plan_, found, kSuperblockBytes, findings_);
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
          found.extent = extent_of(read_layout(message, file_.path()));
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
