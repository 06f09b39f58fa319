#include "shale/verify/verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/walk.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/manifest_file.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/place.hpp"
#include "shale/verify/verify_against.hpp"
#include "shale/verify/verify_fixed.hpp"
#include "shale/verify/verify_library.hpp"
#include "shale/verify/verify_shard.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRangeBytes = 8 * kBlockBytes, kRowsAtOnce = 32;
constexpr std::size_t kKeptFindings = 1000;
constexpr std::chrono::milliseconds kBetweenLooks{50};

// The result of one task of a shard, whichever kind it was.
struct TaskResult {
  RangeResult range;
  DeepResult deep;
};

class Verification {
 public:
  Verification(const VerifyRequest& request, const FindingSink& sink, const Events& events)
      : request_(request), sink_(sink), events_(events), pipeline_(std::max(1U, request.jobs)) {}
  // The pipelines wait for what is under way, which then ends at its next step.
  ~Verification() { is_over_ = true; }
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  VerifyReport run() {
    if (!load_manifest()) return std::move(report_);
    const Format& format = format_of(manifest_);
    report_.has_images = manifest_.images.has_value();
    check_totals();
    if (manifest_.layout.dialect == Dialect::own) check_other_files();
    for (const ManifestShard& shard : shards_) {
      events_.stop_if_asked();
      check_shard(format, shard);
      ++report_.shards;
      report_.samples += shard.digest.samples;
    }
    if (report_.undecoded > 0) {
      report_.notes.push_back(
          fmt::format("{} images are of types that shale has no decoder for: their headers and "
                      "sizes were checked, their pixels not",
                      format_count(report_.undecoded)));
    }
    if (unasked_shards_ > 0) {
      report_.notes.push_back(fmt::format(
          "the second opinion of {} is missing for {} ({})", report_.second_opinion.library,
          format_counted(unasked_shards_, "shard", "shards"), obstacle_));
    }
    if (!request_.against.empty()) {
      try {
        verify_against(
            request_, {paths_, manifest_, shards_, {}, nullptr},
            [this](Finding finding) { add(std::move(finding)); }, events_, report_.notes);
      } catch (const Error& error) {
        if (error.code() != Code::damaged) throw;
        add_damage(error, "");
      }
    }
    return std::move(report_);
  }

 private:
  void add(Finding finding) {
    ++report_.findings;
    if (sink_) sink_(finding);
    if (report_.first_findings.size() < kKeptFindings)
      report_.first_findings.push_back(std::move(finding));
  }

  void add_all(TaskFindings& findings) {
    report_.findings += findings.count() - findings.kept().size();
    for (Finding& finding : findings.kept()) add(std::move(finding));
  }

  // An error that is damage becomes a finding; any other goes on its way.
  void add_damage(const Error& error, const std::string& shard) {
    if (error.code() != Code::damaged && error.code() != Code::not_found &&
        error.code() != Code::schema)
      throw error;
    Finding finding;
    finding.message = error.message() + (error.cause().empty() ? "" : ": " + error.cause());
    finding.file = fs::path(error.file()).filename().string();
    finding.offset = error.offset();
    finding.shard = shard;
    add(std::move(finding));
  }

  // False: there is nothing more to check, all has been said.
  bool load_manifest() {
    const Place place = look_at(request_.dataset);
    const std::optional<std::string> file =
        place == Place::dataset ? std::nullopt : file_of_path(request_.dataset);
    if (place != Place::dataset && !file) throw not_a_dataset(place);
    if (!file && std::none_of(request_.against.begin(), request_.against.end(), file_of_path))
      refuse_file_options(request_.dataset, kOwnDataset, request_.index_folder, {});
    paths_ =
        file ? DatasetPaths::of_file(*file, request_.index_folder) : DatasetPaths(request_.dataset);
    const bool is_indexed = !file || is_manifest(paths_.manifest);
    if (is_indexed && !read_shards()) return false;
    if (!file) return true;
    const std::optional<std::string> change =
        is_indexed ? change_since_index(InputFile(*file), manifest_, shards_.only()) : std::nullopt;
    // Blocks and checksums name what differs of a file of the same size.
    const bool can_tell = change && manifest_.layout.has_checksums && shards_.size() == 1 &&
                          shards_[0].files.size() == 1 &&
                          shards_[0].files[0].bytes == InputFile(*file).size() &&
                          request_.depth != VerifyDepth::quick;
    if (can_tell) {
      report_.notes.push_back(fmt::format(
          "{} has changed since it was indexed: {}; if that is meant to be, '{}' indexes it again",
          printable(*file), *change,
          index_command(*file, request_.index_folder, manifest_.layout.dialect, true)));
    } else if (!is_indexed || change) {
      check_unindexed(*file, change);
      return false;
    }
    if (!manifest_.layout.has_checksums) {
      report_.proves_payload = false;
      report_.notes.push_back(fmt::format(
          "the index has no checksums: payload bytes cannot be verified; '{}' adds them",
          index_command(*file, request_.index_folder, manifest_.layout.dialect, true)));
    }
    return true;
  }

  bool read_shards() {
    try {
      shards_ = open_shard_list(paths_, request_.memory_bytes);
      manifest_ = shards_.manifest();
      for (const ManifestShard& shard : shards_) all_bytes_ += bytes_to_read(shard);
    } catch (const Error& error) {
      add_damage(error, "");
      report_.notes.push_back(
          "without its manifest nothing else of the dataset can be vouched for");
      return false;
    }
    return true;
  }

  // For the progress: a shard's bytes count once for its blocks, once for the walk through its
  // structure, once for its digests.
  [[nodiscard]] std::uint64_t bytes_to_read(const ManifestShard& shard) const {
    std::uint64_t lists = shard.index.bytes + shard.blocks.bytes;
    if (request_.depth == VerifyDepth::quick) return lists;
    return lists + 2 * bytes_of_files(shard) +
           (request_.depth == VerifyDepth::deep ? shard.payload_bytes : 0);
  }
  static std::uint64_t bytes_of_files(const ManifestShard& shard) {
    std::uint64_t bytes = 0;
    for (const ManifestFile& file : shard.files) bytes += file.bytes;
    return bytes;
  }

  // Hears a stop, and tells how far the work is. `under_way`: bytes that are not in done_bytes_
  // yet.
  void look_up(std::uint64_t under_way = 0) const {
    events_.stop_if_asked();
    const std::uint64_t done = std::min(done_bytes_ + under_way + walked_bytes_, all_bytes_);
    events_.report(done, all_bytes_, done);
  }

  // A file of another tool whose index is missing, or of an earlier state: its structure is all
  // there is to check.
  void check_unindexed(const std::string& file, const std::optional<std::string>& change) {
    std::vector<InputFile> files;
    files.emplace_back(file);
    const Format& format = format_of_file(files[0]);
    const WalkProgress progress = events_.of_walk();
    events_.stop_if_asked();
    report_.shards = 1;
    report_.proves_payload = false;
    try {
      Survey survey = format.survey(files[0], Dialect::plain, progress);
      for (std::string& note : survey.notes) report_.notes.push_back(std::move(note));
      format.scan(
          {files, survey.schema, survey.layout, request_.depth == VerifyDepth::deep, survey.samples,
           survey.bases, progress},
          OptionSet(format.options), [this](const IndexRow&) { ++report_.samples; },
          [this](Finding finding) { add(std::move(finding)); });
      if (survey.layout.has_fixed_rows) report_.samples = survey.samples;
    } catch (const Error& error) {
      add_damage(error, "");
    }
    if (change && report_.findings == 0)
      throw stale_index(file, request_.index_folder, manifest_, *change);
    report_.notes.push_back(
        fmt::format("only its structure was checked: payload bytes cannot be verified; '{}' makes "
                    "an index with "
                    "checksums",
                    index_command(file, request_.index_folder, Dialect::plain, true)));
  }

  [[nodiscard]] Error not_a_dataset(Place place) const {
    switch (place) {
      case Place::absent:
        return Error(Code::not_found, "there is no such dataset to verify").at(request_.dataset);
      case Place::unfinished:
        return unfinished(request_.dataset);
      default:
        return Error(Code::unsupported, "is neither a shale dataset nor a file of a known format")
            .at(request_.dataset)
            .hint(
                "verify takes the directory that 'shale convert' wrote, or an LMDB, HDF5 or "
                "TFRecord file");
    }
  }

  void check_totals() {
    DatasetDigest digest;
    std::uint64_t payload = 0;
    for (const ManifestShard& shard : shards_) {
      digest.append(shard.digest);
      payload += shard.payload_bytes;
    }
    const auto compare = [&](std::string_view what, const std::string& found,
                             const std::string& expected) {
      if (found == expected) return;
      Finding finding;
      finding.message = fmt::format("{} of the shards do not add up to that of the set", what);
      finding.file = kManifestName;
      finding.found = found;
      finding.expected = expected;
      add(std::move(finding));
    };
    compare("samples", std::to_string(digest.samples), std::to_string(manifest_.digest.samples));
    compare("payload bytes", std::to_string(payload), std::to_string(manifest_.payload_bytes));
    compare("content digests", digest.content.hex(), manifest_.digest.content.hex());
    compare("ordered digests", digest.ordered.hex(), manifest_.digest.ordered.hex());
    compare("key digests", digest.keys.hex(), manifest_.digest.keys.hex());
  }

  // Lists beside the shards, and files that look like ours but are not in the manifest. There may
  // be any number of them: the first by name are told, the others counted.
  void check_other_files() {
    for (const ManifestFile& file : manifest_.files) (void)check_file(paths_.lists, file, "");
    std::set<std::string> strays;
    std::uint64_t more = 0;
    const auto look_at_entry = [&](const FolderEntry& entry) {
      if (!is_dataset_file(entry.name) || is_listed(entry.name)) return false;
      strays.insert(entry.name);
      if (strays.size() > kKeptFindings) {
        strays.erase(std::prev(strays.end()));
        ++more;
      }
      return false;
    };
    (void)list_folder(request_.dataset, look_at_entry);
    for (const std::string& name : strays) {
      Finding finding;
      finding.message = "the file is not in the manifest";
      finding.file = name;
      add(std::move(finding));
    }
    report_.findings += more;
  }

  [[nodiscard]] bool is_listed(const std::string& name) const {
    return name == kManifestName || lists_shard_file(manifest_, name) ||
           std::any_of(manifest_.files.begin(), manifest_.files.end(),
                       [&](const ManifestFile& file) { return file.name == name; });
  }

  // A file that is proved as a whole: its size, and from full on its hash.
  // False if there was something to report.
  bool check_file(const std::string& folder, const ManifestFile& expected,
                  const std::string& shard) {
    const std::uint64_t findings_before = report_.findings;
    try {
      const InputFile file(join_path(folder, expected.name));
      Finding finding;
      finding.file = expected.name;
      finding.shard = shard;
      if (file.size() != expected.bytes) {
        finding.message = "size is wrong";
        finding.found = fmt::format("{} bytes", file.size());
        finding.expected = std::to_string(expected.bytes);
        add(std::move(finding));
        return false;
      }
      if (request_.depth == VerifyDepth::quick) return true;
      const auto progress = [this](std::uint64_t bytes) { look_up(bytes); };
      const Hash128 found = summarize_file(file, progress).hash;
      report_.bytes += file.size();
      done_bytes_ += file.size();
      if (found != expected.hash) {
        finding.message = "hash of the file is wrong";
        finding.found = "xxh3-128 " + found.hex();
        finding.expected = expected.hash.hex();
        add(std::move(finding));
      }
    } catch (const Error& error) {
      add_damage(error, shard);
    }
    return report_.findings == findings_before;
  }

  void check_shard(const Format& format, const ManifestShard& shard) {
    const std::uint64_t first_sample = report_.samples;
    const std::uint64_t findings_before = report_.findings;
    const std::uint64_t damage_before = findings_before - report_.bad_when_written;
    if (!shard.index.name.empty()) (void)check_file(paths_.lists, shard.index, shard.name);
    const bool has_blocks =
        !shard.blocks.name.empty() && check_file(paths_.lists, shard.blocks, shard.name);
    std::shared_ptr<ShardCheck> check;
    try {
      check = std::make_shared<ShardCheck>(manifest_, first_sample,
                                           ShardReader(paths_, manifest_, shard), is_over_);
      check->has_ordered_places = format.can.places_ascend &&
                                  manifest_.layout.dialect == Dialect::own &&
                                  !manifest_.layout.has_fixed_rows;
      (void)check->reader.open_index();
    } catch (const Error& error) {
      // Without an index that fits, the files of the shard can still be proved, each as a whole.
      for (const ManifestFile& file : shard.files)
        (void)check_file(paths_.shards, file, shard.name);
      if (report_.findings == findings_before) add_damage(error, shard.name);
      return;
    }
    if (has_blocks) load_blocks(*check);
    // Without a list to tell blocks apart by, each file is proved as a whole.
    if (check->blocks.empty() && manifest_.layout.has_checksums) {
      for (const ManifestFile& file : shard.files)
        (void)check_file(paths_.shards, file, shard.name);
    }
    if (request_.depth == VerifyDepth::quick) return;
    prove_bytes(check, format);
    check->is_damaged = report_.findings > findings_before;
    if (request_.depth == VerifyDepth::deep) prove_digests(check, format);
    // Images that were bad when they were written are no damage.
    const bool is_whole = report_.findings - report_.bad_when_written == damage_before;
    if (request_.depth == VerifyDepth::deep && is_whole) ask_library(*check, format);
  }

  // Only about shards that are whole: what it says is then news, and damage does not kill it. No
  // task is under way.
  void ask_library(const ShardCheck& check, const Format& format) {
    if (format.scan_by_library == nullptr || manifest_.layout.dialect != Dialect::own) return;
    settle();
    const LibraryVerdict verdict =
        verify_by_library(check, format, [this] { events_.stop_if_asked(); });
    for (const Finding& finding : verdict.first_findings) add(finding);
    report_.findings += verdict.findings - verdict.first_findings.size();
    SecondOpinion& opinion = report_.second_opinion;
    opinion.library = verdict.reading.library;
    opinion.findings += verdict.findings;
    if (verdict.reading.obstacle.empty()) {
      ++opinion.shards;
      opinion.samples += check.reader.shard().digest.samples;
    } else if (unasked_shards_++ == 0) {
      obstacle_ = verdict.reading.obstacle;
    }
  }

  // The next result. A task that damage has stopped (a file that shrinks meanwhile) is a finding
  // like any other, and those after it are still of this shard.
  template <class Result>
  std::optional<Result> take_result(OrderedPipeline<Result>& pipeline, const std::string& shard) {
    while (!pipeline.has_result(kBetweenLooks)) look_up();
    try {
      return pipeline.take();
    } catch (const Error& error) {
      add_damage(error, shard);
      return std::nullopt;
    }
  }

  void load_blocks(ShardCheck& check) {
    std::uint64_t count = 0;
    for (const ManifestFile& file : check.reader.shard().files) {
      check.first_block.push_back(count);
      count += block_count(file.bytes);
    }
    try {
      check.blocks = read_block_list(
          InputFile(join_path(paths_.lists, check.reader.shard().blocks.name)), count);
    } catch (const Error& error) {
      add_damage(error, check.reader.shard().name);
    }
    // A list that is damaged cannot say which block is: the hash of the file tells whether the list
    // is right.
    for (std::size_t i = 0; i < check.reader.shard().files.size() && !check.blocks.empty(); ++i) {
      const ManifestFile& file = check.reader.shard().files[i];
      const auto list =
          std::span(check.blocks).subspan(check.first_block[i], block_count(file.bytes));
      if (const Hash128 found = hash_of_blocks(list); found != file.hash) {
        Finding finding;
        finding.message =
            fmt::format("block list does not hash to the manifest's hash of {}", file.name);
        finding.file = check.reader.shard().blocks.name;
        finding.shard = check.reader.shard().name;
        finding.found = found.hex();
        finding.expected = file.hash.hex();
        add(std::move(finding));
        check.blocks.clear();
      }
    }
  }

  // Blocks and values, one task a range; beside them, on a thread of its own, the walk through the
  // container. What the walk finds comes last, so that the order of the findings is always the
  // same.
  void prove_bytes(const std::shared_ptr<ShardCheck>& check, const Format& format) {
    StraddlingJoin join;
    // Where values do not lie in the order of the rows, the walk proves their checksums.
    const bool reads_payload = request_.depth == VerifyDepth::deep ||
                               (!check->has_ordered_places && check->reader.has_checksums());
    if (format.can.forks && manifest_.layout.dialect != Dialect::own) {
      prove_structure(*check, format, reads_payload);
    } else {
      walk_.submit([this, check, &format, reads_payload](unsigned) {
        return verify_structure(*check, format, reads_payload, [&](std::uint64_t done, auto) {
          check->stop_if_over();
          walked_bytes_ = done;
        });
      });
    }
    for (std::size_t file = 0; file < check->reader.files().size(); ++file) {
      const std::uint64_t size =
          manifest_.layout.has_checksums ? check->reader.files()[file].size() : 0;
      for (std::uint64_t begin = 0; begin < size; begin += kRangeBytes) {
        const ByteRange range{file, begin, std::min(size, begin + kRangeBytes)};
        pipeline_.submit([check, range](unsigned) {
          TaskResult result;
          result.range = verify_range(*check, range);
          return result;
        });
        drain(*check, join, most_in_flight());
      }
    }
    drain(*check, join, 0);
    if (walk_.pending() > 0) {
      std::optional<TaskFindings> found = take_result(walk_, check->reader.shard().name);
      if (found) add_all(*found);
    }
    walked_bytes_ = 0;
    done_bytes_ += bytes_of_files(check->reader.shard());
  }

  // The walk, here and now, while no task is under way: a child that is forked beside busy threads
  // has their locks for ever (those of a sanitizer's allocator, say).
  void prove_structure(const ShardCheck& check, const Format& format, bool reads_payload) {
    settle();
    try {
      TaskFindings found =
          verify_structure(check, format, reads_payload,
                           [this](std::uint64_t done, std::uint64_t) { look_up(done); });
      add_all(found);
    } catch (const Error& error) {
      add_damage(error, check.reader.shard().name);
    }
  }

  // Before a fork: see there.
  void settle() {
    walk_.settle();
    pipeline_.settle();
  }

  // Takes results until no more than `left` tasks are in flight.
  void drain(const ShardCheck& check, StraddlingJoin& join, std::size_t left) {
    while (pipeline_.pending() > left) {
      if (std::optional<TaskResult> result = take_result(pipeline_, check.reader.shard().name)) {
        add_all(result->range.findings);
        for (Finding& finding : join.add(check, result->range.pieces)) add(std::move(finding));
        report_.bytes += result->range.bytes;
        done_bytes_ += result->range.bytes;
      }
      look_up();
    }
  }

  void prove_digests(const std::shared_ptr<ShardCheck>& check, const Format& format) {
    const std::uint64_t rows = check->reader.shard().digest.samples;
    DatasetDigest digest;
    const auto drain_to = [&](std::size_t left) {
      while (pipeline_.pending() > left) {
        std::optional<TaskResult> result = take_result(pipeline_, check->reader.shard().name);
        if (result) {
          add_all(result->deep.findings);
          digest.append(result->deep.digest);
          report_.undecoded += result->deep.undecodable_types;
          report_.bad_when_written += result->deep.bad_when_written;
          done_bytes_ += result->deep.bytes;
        }
        look_up();
      }
    };
    // Half of the memory for the small samples, one a worker; half for one large sample at a time.
    check->limits.large_bytes = request_.memory_bytes / 2;
    check->limits.small_bytes = check->limits.large_bytes / std::max(1U, request_.jobs);
    const bool is_fixed = manifest_.layout.has_fixed_rows;
    const std::uint64_t at_once = is_fixed ? fixed_rows_at_once(*check) : kRowsAtOnce;
    for (std::uint64_t begin = 0; begin < rows; begin += at_once) {
      const std::uint64_t end = begin + std::min(at_once, rows - begin);
      pipeline_.submit([check, &format, begin, end, is_fixed](unsigned) {
        TaskResult result;
        result.deep = is_fixed ? verify_fixed_rows(*check, begin, end)
                               : verify_rows(*check, format, begin, end);
        return result;
      });
      drain_to(most_in_flight());
    }
    drain_to(0);
    if (!manifest_.layout.has_checksums) return;
    if (!manifest_.layout.has_keys) digest.keys = {};
    const DatasetDigest& expected = check->reader.shard().digest;
    if (digest == expected) return;
    Finding finding = check->finding("digests of the samples are wrong",
                                     check->reader.shard().files[0].name, std::nullopt);
    finding.found = fmt::format("{} samples, content {}, ordered {}, keys {}", digest.samples,
                                digest.content.hex(), digest.ordered.hex(), digest.keys.hex());
    finding.expected =
        fmt::format("{} samples, content {}, ordered {}, keys {}", expected.samples,
                    expected.content.hex(), expected.ordered.hex(), expected.keys.hex());
    add(std::move(finding));
  }

  [[nodiscard]] std::size_t most_in_flight() const {
    return std::size_t{std::max(1U, request_.jobs)} * 2;
  }

  const VerifyRequest& request_;
  const FindingSink& sink_;
  const Events& events_;
  DatasetPaths paths_;
  VerifyReport report_;
  Manifest manifest_;
  ShardList shards_;
  std::uint64_t unasked_shards_ = 0;
  std::string obstacle_;  // why the first of them was not read by the library
  std::uint64_t all_bytes_ = 0, done_bytes_ = 0;  // for the progress
  std::atomic<std::uint64_t> walked_bytes_ = 0;   // by the walk that is under way
  std::atomic<bool> is_over_ = false;
  OrderedPipeline<TaskFindings> walk_{1};  // last: their tasks use the others
  OrderedPipeline<TaskResult> pipeline_;
};

}  // namespace

VerifyReport verify(const VerifyRequest& request, const FindingSink& sink, const Events& events) {
  return Verification(request, sink, events).run();
}

}  // namespace shale
