#include "formats/hdf5/hdf5_own_scan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/columns/own_rows.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/hdf5/hdf5_class_names.hpp"
#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_directory.hpp"

namespace shale {
namespace {

// More columns than this are not divided: each part would read more around its rows than in them.
constexpr std::uint64_t kRowsOfPart = 8192, kMostColumnsOfParts = 256;

// Proves that a shard of fixed rows is what shale writes for so many: its metadata to the byte, its
// size, and the columns where the manifest says. Any bytes are rows.
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
    const ShardMetadata expected =
        shard_metadata(plan_, input_.samples, part_bytes_, names_in_file());
    const std::uint64_t end = extents.back().offset + expected.tail.size();
    if (end != file_.size()) {
      report("the file size does not match its rows", std::nullopt, "",
             fmt::format("{} bytes", file_.size()), fmt::to_string(end));
    }
    check_metadata(0, expected.head);
    check_metadata(extents.back().offset, expected.tail);
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

  // Whether they are those of the manifest is not asked here. Of damage the metadata tell.
  [[nodiscard]] LabelNames names_in_file() const {
    for (std::size_t i = 0; i < input_.schema.fields.size(); ++i) {
      const Field& field = input_.schema.fields[i];
      if (field.kind != Kind::integer) continue;
      try {
        LabelNames names{i, hdf5_class_place.read(file_, field.name)};
        if (hdf5_class_place.bytes(names.names) > 0) return names;
      } catch (const Error& error) {
        if (!is_about_bytes(error)) throw;
      }
    }
    return {};
  }

  // Our own metadata has one form: anything else is damage.
  void check_metadata(std::uint64_t begin, Bytes expected) {
    const std::uint64_t left = file_.size() - std::min(begin, file_.size());
    std::vector<std::byte> found(std::min<std::uint64_t>(expected.size(), left));
    file_.read_exact(begin, found);
    const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
    if (differs == found.end()) return;
    report(fmt::format("the metadata does not match {} rows of its schema", input_.samples),
           begin + static_cast<std::uint64_t>(differs - found.begin()), "", "", "");
  }

  const ShardInput& input_;
  const Hdf5Plan& plan_;
  const InputFile& file_;
  FindingDraft draft_;
  std::vector<std::uint64_t> part_bytes_;
};

ViewColumn windows_on(const InputFile& file) {
  return [&file](std::size_t, std::uint64_t window_bytes) -> ViewBytes {
    auto window = std::make_shared<WindowReader>(file, window_bytes);
    return [window](std::uint64_t offset, std::uint64_t length) {
      return window->view(offset, length);
    };
  };
}

// What all parts of a shard share.
struct SharedShard {
  Hdf5Plan plan;
  ShardDirectory directory;
};

bool scan_rows_of_part(const ShardInput& input, const SharedShard& shared, const ScanRows& part,
                       const RowSink& rows) {
  bool is_sound = true;
  const FindingSink note = [&](const Finding&) { is_sound = false; };
  scan_part_of_columns(input, shared.plan, shared.directory, windows_on(input.files[0]), part, rows,
                       note);
  return is_sound;
}

}  // namespace

void scan_own_hdf5(const ShardInput& input, const RowSink& rows, const FindingSink& findings) {
  const Hdf5Plan plan = plan_columns(input.schema);
  if (plan.rows.has_strides()) return FixedScanner(input, plan, findings).scan();
  const InputFile& file = input.files[0];
  const std::optional<ShardDirectory> directory = read_shard_directory(file, plan, findings);
  if (!directory) return;
  scan_columns(input, plan, *directory, windows_on(file), rows, findings);
}

SplitScan split_hdf5_scan(const ShardInput& input) {
  auto shared = std::make_shared<SharedShard>();
  shared->plan = plan_columns(input.schema);
  if (shared->plan.rows.has_strides() || shared->plan.columns.size() > kMostColumnsOfParts)
    return {};
  bool is_sound = true;
  const FindingSink note = [&](const Finding&) { is_sound = false; };
  std::optional<ShardDirectory> directory =
      read_shard_directory(input.files[0], shared->plan, note);
  // Without rows there are no parts, and nobody would look at the first offsets.
  if (!directory || !is_sound || directory->samples == 0) return {};
  shared->directory = std::move(*directory);
  return {.samples = shared->directory.samples,
          .rows_at_once = kRowsOfPart,
          .scan =
              [shared](const ShardInput& shard, const ScanRows& part, const RowSink& rows) {
                return scan_rows_of_part(shard, *shared, part, rows);
              },
          .is_complete = [] { return true; }};
}

}  // namespace shale
