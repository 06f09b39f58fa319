#include "shale/targets/compare_content.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "shale/arrays/array_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

std::int64_t modified_ns(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts) {
    throw Error(Code::io, "its time of modification cannot be determined")
        .at(path)
        .because_errno(ENOENT);
  }
  return std::int64_t{facts->st_mtim.tv_sec} * 1'000'000'000 + facts->st_mtim.tv_nsec;
}

// When an input was written: of a dataset its manifest, which comes last; of a set of files the
// newest, or the list of them.
std::int64_t input_modified_ns(const std::string& input) {
  const std::string manifest = DatasetPaths(input).manifest;
  if (facts_behind(manifest)) return modified_ns(manifest);
  const auto files = files_of_set(input);
  if (!files) return modified_ns(file_of_path(input).value_or(input));
  std::int64_t newest = facts_behind(input) ? modified_ns(input) : 0;
  for (const SetMember& one : *files) newest = std::max(newest, modified_ns(one.path));
  return newest;
}

bool is_same_number(const IndexCell& a, const IndexCell& b) {
  return a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

// The samples of the dataset, beside those that its input would make now.
class ContentComparison {
 public:
  // Of the last run, where there are several.
  explicit ContentComparison(const std::string& output)
      : paths_(output), shards_(open_shard_list(paths_)), manifest_(shards_.manifest()) {
    if (!manifest_.runs.empty()) {
      const ManifestRun& last = manifest_.runs.back();
      shard_ = begin_ = manifest_.shard_count - last.shards;
      first_row_ = manifest_.digest.samples - last.samples;
      was_skipped_ = last.source.samples - std::min(last.source.samples, last.samples);
    }
    begin_shard();
  }

  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  // Records of fixed rows end where shards do: all but the last one have the same number of rows.
  [[nodiscard]] std::optional<std::uint64_t> rows_a_shard() const {
    if (shards_.size() < begin_ + 2) return std::nullopt;
    return shards_.samples(begin_);
  }

  void take(const EncodedSample& sample) {
    if (!sample.record) {
      ++skipped_;
      return;
    }
    if (!open_) throw differs("it has more samples now").for_sample(sample.key);
    if (manifest_.layout.rows.has_index()) compare_row(sample);
    digest_.append(sample.record->digest);
    const ManifestShard& shard = *open_;
    if (digest_.samples < shard.digest.samples) return;
    if (digest_ != shard.digest) {
      throw differs(fmt::format("rows {} to {}, in {}, differ", first_row_,
                                first_row_ + shard.digest.samples - 1, shard.name));
    }
    first_row_ += shard.digest.samples;
    ++shard_;
    begin_shard();
  }

  void finish() const {
    if (open_) throw differs("it has fewer samples now");
    if (skipped_ == was_skipped_) return;
    throw differs(fmt::format("{} are left out now, {} before",
                              format_counted(skipped_, "sample", "samples"), was_skipped_));
  }

 private:
  void begin_shard() {
    digest_ = {};
    index_.reset();
    reader_.reset();
    open_.reset();
    if (shard_ < shards_.size()) open_ = shards_[shard_];
  }

  // By the index: its checksums tell which sample and which field.
  void compare_row(const EncodedSample& sample) {
    if (!reader_) {
      reader_.emplace(paths_, manifest_, *open_);
      index_.emplace(reader_->open_index());
    }
    const IndexRow was = index_->row(digest_.samples);
    const IndexRow& is = sample.record->row;
    const auto refuse = [&](const std::string& what) {
      throw differs(what).for_sample(sample.key, first_row_ + digest_.samples);
    };
    if (manifest_.layout.has_keys && was.key_hash != xxh3_64(as_bytes(sample.key)))
      refuse("a different sample was there");
    for (std::size_t i = 0; i < is.cells.size(); ++i) {
      const Field& field = manifest_.schema.fields[i];
      const FieldPlace &then = was.cells[i].place, &now = is.cells[i].place;
      const bool is_same =
          is_located(field.kind)
              ? then.length == now.length && then.crc32c == now.crc32c && then.count == now.count
              : is_same_number(was.cells[i], is.cells[i]);
      if (!is_same) refuse(fmt::format("field '{}' has a different value", printable(field.name)));
    }
  }

  [[nodiscard]] Error differs(const std::string& what) const {
    return Error(Code::exists,
                 "already holds a finished dataset of this command, but the input has changed "
                 "since: {}",
                 what)
        .at(paths_.shards)
        .hint(manifest_.runs.empty()
                  ? "choose another output, or pass --overwrite to replace it"
                  : "it was appended before: append what is new as an input of its own");
  }

  DatasetPaths paths_;
  ShardList shards_;
  const Manifest& manifest_;
  std::uint64_t shard_ = 0, begin_ = 0, was_skipped_ = manifest_.skipped;
  std::optional<ManifestShard> open_;  // that one; nullopt after the last
  std::optional<ShardReader> reader_;  // of that shard, where there is an index
  std::optional<IndexReader> index_;
  DatasetDigest digest_;  // of its rows so far
  std::uint64_t first_row_ = 0, skipped_ = 0;
};

}  // namespace

bool has_other_content(const ManifestSource& was, const ManifestSource& is) {
  return made_from(is.kind).is_known_by_content && was.kind == is.kind &&
         was.samples == is.samples && was.bytes == is.bytes && was.fingerprint != is.fingerprint;
}

bool has_newer_input(const ConvertRequest& request, const SourceInfo& source) {
  // The fingerprint of a dataset of shale is a digest of its content: it has been compared.
  if (source.manifest.kind == kDatasetKind) return false;
  std::int64_t newest = source.modified_ns;
  if (newest == 0) {
    for (const std::string& input : request.inputs)
      newest = std::max(newest, input_modified_ns(path_in_word(input)));
  }
  return newest > modified_ns(DatasetPaths(request.output).manifest);
}

void refuse_changed_content(const ConvertRequest& request, const Events& events,
                            const Format& format, Source& source) {
  ContentComparison comparison(request.output);
  const OptionSet options(format.options);
  const Encoding encoding{format, options, comparison.manifest().layout, request.on_error};
  const std::uint64_t of_source =
      std::max(list_memory(request.memory_bytes), source.info().memory_bytes);
  DatasetDigest read;
  encode_all(source, encoding,
             {.jobs = request.jobs,
              .memory_bytes = request.memory_bytes - of_source,
              .rows_a_shard = comparison.rows_a_shard()},
             events, [&](const EncodedSample& sample) {
               read.append(sample.read);
               comparison.take(sample);
             });
  prove_input(source.info(), read, request.inputs.front());
  comparison.finish();
}

}  // namespace shale
