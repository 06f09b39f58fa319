#include "formats/hdf5/hdf5_fixed_scan.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"

namespace shale {
namespace {

class FixedScanner {
 public:
  FixedScanner(const ShardInput& input, const Hdf5Plan& plan, const FindingSink& findings)
      : input_(input), plan_(plan), file_(input.files[0]), draft_(file_, findings) {}

  void scan() {
    if (input_.bases.size() != input_.schema.fields.size()) {
      return report("the manifest does not say where every dataset begins", std::nullopt, "",
                    fmt::format("{} places", input_.bases.size()),
                    fmt::to_string(input_.schema.fields.size()));
    }
    if (!count_bytes()) return;
    const std::vector<ColumnExtent> extents = place_columns(plan_, input_.samples, part_bytes_);
    if (extents.back().offset != file_.size()) {
      report("the file size does not match its rows", std::nullopt, "",
             fmt::format("{} bytes", file_.size()), fmt::to_string(extents.back().offset));
    }
    check_head();
    for (std::size_t i = 0; i < part_bytes_.size(); ++i) {
      if (extents[i].offset == input_.bases[i]) continue;
      report("the dataset does not begin where the manifest says", extents[i].offset,
             plan_.columns[i].name, fmt::to_string(extents[i].offset),
             fmt::to_string(input_.bases[i]));
    }
  }

 private:
  void report(std::string message, std::optional<std::uint64_t> offset, std::string field,
              std::string found, std::string expected) {
    draft_.begin(std::move(message), offset).field = std::move(field);
    draft_.send(std::move(found), std::move(expected));
  }

  // The bytes of each column; false for more than the file has, whose sum might be of any size.
  bool count_bytes() {
    std::uint64_t left = file_.size();
    for (const Field& field : input_.schema.fields) {
      const std::uint64_t row_bytes = fixed_bytes_of(field).value();
      if (row_bytes > 0 && input_.samples > left / row_bytes) {
        report("the file is too short for its rows", std::nullopt, field.name,
               fmt::format("{} bytes", file_.size()),
               fmt::format("{} rows, {} bytes each here", input_.samples, row_bytes));
        return false;
      }
      part_bytes_.push_back(input_.samples * row_bytes);
      left -= part_bytes_.back();
    }
    return true;
  }

  // Our own metadata has one form: anything else is damage.
  void check_head() {
    const std::vector<std::byte> expected = shard_head(plan_, input_.samples, part_bytes_);
    std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), file_.size()));
    file_.read_exact(0, found);
    const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
    if (differs == found.end()) return;
    report(fmt::format("the metadata does not match {} rows of its schema", input_.samples),
           static_cast<std::uint64_t>(differs - found.begin()), "", "", "");
  }

  const ShardInput& input_;
  const Hdf5Plan& plan_;
  const InputFile& file_;
  FindingDraft draft_;
  std::vector<std::uint64_t> part_bytes_;
};

}  // namespace

void scan_fixed_hdf5(const ShardInput& input, const Hdf5Plan& plan, const FindingSink& findings) {
  FixedScanner(input, plan, findings).scan();
}

}  // namespace shale
