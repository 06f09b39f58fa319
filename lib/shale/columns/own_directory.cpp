#include "shale/columns/own_directory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"

namespace shale {
namespace {

class DirectoryCheck {
 public:
  DirectoryCheck(const InputFile& file, const Hdf5Plan& plan, std::uint64_t head_bytes,
                 const FindingSink& findings)
      : file_(file),
        name_(file.name()),
        plan_(plan),
        head_bytes_(head_bytes),
        findings_(findings) {}

  std::optional<ShardDirectory> check(std::span<const FoundDataset> found) {
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

 private:
  Finding finding(std::string message, std::optional<std::uint64_t> offset) const {
    Finding made;
    made.message = std::move(message);
    made.file = name_;
    made.offset = offset;
    return made;
  }

  void lose(Finding what, std::string field, std::string found, std::string expected) {
    is_lost_ = true;
    what.field = std::move(field);
    what.found = std::move(found);
    what.expected = std::move(expected);
    findings_(std::move(what));
  }

  void check_type(const Hdf5Column& column, const FoundDataset& found) {
    if (found.type == column.dtype.descr()) return;
    lose(finding(fmt::format("dataset '{}' has a different type", printable(column.name)),
                 found.address),
         column.name, dtype_text(found.type), dtype_text(column.dtype));
  }

  void check_sides(const Hdf5Column& column, const FoundDataset& found, std::uint64_t samples) {
    const std::vector<std::uint64_t> expected =
        column.sides(samples, column.part_bytes_of(found.extent.length));
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
    if (expected != found.extent.length) {
      lose(finding(
               fmt::format("size of dataset '{}' does not match its shape", printable(column.name)),
               found.address),
           column.name, fmt::format("{} bytes", found.extent.length),
           expected ? fmt::format("{} bytes", *expected)
                    : fmt::format("at most {} bytes", file_.size()));
      return {};
    }
    if (found.extent.length == 0) return {};
    const std::uint64_t left =
        found.extent.offset < file_.size() ? file_.size() - found.extent.offset : 0;
    if (found.extent.length <= left) return {found.extent.offset, found.extent.length};
    lose(finding(
             fmt::format("dataset '{}' reaches beyond the end of the file", printable(column.name)),
             found.address),
         column.name, fmt::format("{} bytes at byte {}", found.extent.length, found.extent.offset),
         fmt::format("at most {} bytes there", left));
    return {};
  }

  void check_overlaps(const std::vector<ColumnExtent>& extents) {
    std::vector<std::pair<std::uint64_t, std::size_t>> begins;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i].length > 0) begins.emplace_back(extents[i].offset, i);
    }
    std::sort(begins.begin(), begins.end());
    std::uint64_t end = head_bytes_;
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
  std::uint64_t head_bytes_;
  const FindingSink& findings_;
  bool is_lost_ = false;
};

}  // namespace

std::optional<ShardDirectory> check_directory(const InputFile& file, const Hdf5Plan& plan,
                                              std::span<const FoundDataset> found,
                                              std::uint64_t head_bytes,
                                              const FindingSink& findings) {
  return DirectoryCheck(file, plan, head_bytes, findings).check(found);
}

}  // namespace shale
