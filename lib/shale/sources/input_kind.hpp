#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shale/archives/stream_path.hpp"
#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/io/input_stream.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/row_table.hpp"

namespace shale {

/// An option that says how an input is read, and that not every kind of input takes.
struct InputOption {
  std::string_view name;
  bool (*is_given)(const InputRequest& request);
};

/// All of them; a kind names those that it takes by their bits.
enum InputOptionBit : std::uint32_t {
  kTakesLabels = 1U << 0U,
  kTakesClassesFrom = 1U << 1U,
  kTakesListing = 1U << 2U,
  kTakesHidden = 1U << 3U,
  kTakesGroup = 1U << 4U,
  kTakesExt = 1U << 5U,
  kTakesPairs = 1U << 6U,
  kTakesSelect = 1U << 7U,
  kTakesExclude = 1U << 8U,
  kTakesShuffle = 1U << 9U,
  kTakesPart = 1U << 10U,
  kTakesIndexDir = 1U << 11U,
  kTakesParse = 1U << 12U,
  kTakesClasses = 1U << 13U,
  kTakesDatabase = 1U << 14U,
  kTakesOn = 1U << 15U,
  kTakesPartners = 1U << 16U,
  kTakesAxis = 1U << 17U,
  kTakesClassOrder = 1U << 18U,
  kTakesLimit = 1U << 19U,
  kTakesRaw = 1U << 20U,
  kTakesLabelFrom = 1U << 21U,
};
/// In the order of their bits.
[[nodiscard]] std::span<const InputOption> input_options();

/// What its tar archives are read as: what only files of a folder have makes files of the members
/// of any archive. Errors: same as is_indexed_archive.
[[nodiscard]] TarsAs tars_as(const InputRequest& request);

/// What an input opens as.
struct OpenedInput {
  std::unique_ptr<Source> source = nullptr;  ///< null: it is `rows`
  /// The same, if its samples can be put in another order.
  OrderableSource* orderable = nullptr;
  /// Of an input whose rows are all of one size, where only some are wanted, or in another order.
  std::optional<RowTable> rows = {};
  /// Only those of the fields that are asked for, by the names that they have.
  bool has_chosen_fields = false;
};

/// What is known of an input while its kind is sought. `events` must outlive what is opened.
struct SoughtInput {
  const InputRequest& request;
  const std::string& scratch_folder;
  const Events& events;
  /// Of stdin: what was opened to peek at its beginning. Null: nothing was.
  std::unique_ptr<InputStream> stream = nullptr;
  /// Opens one of several inputs that are joined, by its own kind.
  std::function<OpenedInput(const InputRequest& request)> open_one = {};

  [[nodiscard]] const std::string& path() const { return request.inputs.front(); }
  [[nodiscard]] bool is_one() const { return request.inputs.size() == 1; }
  /// For rows that are put in order.
  [[nodiscard]] const std::string& scratch_of_rows() const {
    return request.scratch_folder.empty() ? scratch_folder : request.scratch_folder;
  }
};

/// How sure a kind is that an input is its own. The first one that is certain is taken, else the
/// surest.
enum class Certainty { none, by_name, certain };

/// The answer, and how the input is opened with what was found on the way.
struct Recognition {
  Certainty certainty = Certainty::none;
  std::function<OpenedInput(SoughtInput& input)> open = {};
};

/// A kind of input: one row of input_kinds().
struct InputKind {
  std::string_view name;  ///< for messages: "the input is a folder"
  /// By the words of the command, the first bytes and what is in a folder; reads no samples.
  /// Errors: Code::usage for words that can be meant for nothing else, but are wrong.
  Recognition (*recognize)(SoughtInput& input);
  std::uint32_t takes = 0;      ///< InputOptionBit
  bool may_be_rows = false;     ///< of one size, which can be drawn
  std::string_view place = {};  ///< where messages say that it is; empty: its path
  /// What it says to an option that it does not take, in words of its own; null, and for the
  /// options of files of other tools: what is made of `name`.
  Error (*refusal)(const InputRequest& request, std::string_view option) = nullptr;
};

/// The error for an option that the kind does not take.
[[nodiscard]] Error not_for(const InputKind& kind, const InputRequest& request,
                            std::string_view option);

/// All kinds, in the order in which they are asked.
[[nodiscard]] std::span<const InputKind> input_kinds();

/// What follows from the kind of an input, as a manifest names it (ManifestSource::kind).
struct MadeFrom {
  std::string_view kind;
  bool is_files = false;             ///< in folders, an archive, a list: each file is a sample
  bool has_unique_keys = false;      ///< paths, numbers, or keys that were unique in a dataset
  bool is_known_by_content = false;  ///< its fingerprint is of the content, not of names and sizes
};
/// Of a kind that has no row, such as one of a later version, nothing is known. Files of other
/// tools are one kind: "lmdb file".
[[nodiscard]] MadeFrom made_from(std::string_view kind);

/// The error for an input whose samples are not rows of one size, where such are drawn.
[[nodiscard]] Error rows_differ(const std::string& input);

}  // namespace shale
