#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/format/source.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/labels/choice_list.hpp"

namespace shale {

/// Which samples of an input are taken: those that one file lists and whose class is one of some,
/// without those that another file lists. A file that ends in .npy holds row numbers; any other
/// file is a ChoiceList. Rows count from 0, in the order that the input has without a shuffle.
struct SampleChoice {
  std::string select_file = {}, exclude_file = {};  ///< empty: all, none; "-": stdin
  KeyForm keys = KeyForm::automatic;                ///< of both
  std::vector<std::string> classes = {};            ///< empty: all
  /// Of those at most so many: the first, or with a seed any, by chance. 0: all.
  std::uint64_t limit = 0;
  std::optional<std::uint64_t> limit_seed = {};
  /// Instead of both: a file of shale's own with the rows, as SplitRows writes it.
  std::string rows_file = {};
  /// Of files that are pipes, for this request and all that are copied from it.
  std::shared_ptr<ListCopies> copies = std::make_shared<ListCopies>();

  [[nodiscard]] bool is_all() const {
    return select_file.empty() && exclude_file.empty() && rows_file.empty() && classes.empty() &&
           limit == 0;
  }
};

/// The option under which a manifest has ChosenRows::hash(); it is there only if some were left
/// out.
inline constexpr std::string_view kChosenSamples = "chosen samples";
[[nodiscard]] bool has_chosen_samples(const Manifest& manifest);

/// The rows that a choice takes, ascending, in a nameless scratch file; or those of a join. One
/// thread.
class ChosenRows {
 public:
  /// `info`: of the source. Reads the keys of `whole`, which is at its first sample and not
  /// shuffled, where the choice lists keys; it may be null for rows of one size. Memory:
  /// `memory_bytes`, at least 4 MiB. Errors: Code::bad_content with file and line for a row that
  /// the input does not have, a key of no sample, a row or key that is listed twice, a list of keys
  /// for an input whose samples have none, one that can be read in two ways, a class that the input
  /// does not have, a choice that leaves nothing; same as NumberFile and ChoiceList;
  /// Code::interrupted.
  ChosenRows(const SampleChoice& choice, const SourceInfo& info, Source* whole,
             const std::string& scratch_folder, std::uint64_t memory_bytes, const Events& events);
  /// Rows in any order, 8 bytes each: what a join found. Their hash is zero.
  ChosenRows(ScratchFile rows, const std::string& scratch_folder, std::uint64_t memory_bytes);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The row of the input that comes at position i < count(). Errors: Code::io.
  [[nodiscard]] std::uint64_t at(std::uint64_t i);
  /// Writes them as an .npy file of u64, shuffled if there is a seed. Errors: Code::io.
  void write_array(const NamelessFile& file, std::optional<std::uint64_t> seed,
                   const Events& events);
  /// xxh3-128 of all rows, 8 bytes each.
  [[nodiscard]] Hash128 hash() const { return hash_; }
  /// Of the chosen part of an input that has this fingerprint.
  [[nodiscard]] Hash128 fingerprint_of(const Hash128& input) const;

 private:
  void draw(std::uint64_t count, std::uint64_t seed, const Events& events);

  std::string scratch_folder_;
  std::uint64_t memory_bytes_;
  ScratchFile rows_;
  std::uint64_t count_ = 0, first_cached_ = 0;
  std::vector<std::uint64_t> cached_;
  Hash128 hash_;
};

/// Which samples of a source come, and where.
struct SampleOrder {
  std::shared_ptr<ChosenRows> chosen = nullptr;  ///< null: all
  std::optional<std::uint64_t> seed = {};        ///< of a shuffle; nullopt: in their own order
  bool is_last = true;                           ///< false: another order comes after it
};

/// A source that can be read again, and gives its samples in any order.
class OrderableSource : public Source {
 public:
  /// Begins again, with the samples in that order, once for the last one: info() is then of what is
  /// taken. Errors: Code::io.
  virtual void put_in_order(const SampleOrder& order) = 0;
};

}  // namespace shale
