#include "shale/verify/verify.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/shard_verifier.hpp"
#include "shale/verify/small_shards.hpp"
#include "shale/verify/verify_against.hpp"
#include "shale/verify/verify_log.hpp"

namespace shale {
namespace {

constexpr std::size_t kKeptOfLibrary = 200;

// What the container's own library says of one shard.
struct LibraryVerdict {
  LibraryReading reading;
  std::uint64_t findings = 0;
  std::vector<Finding> first_findings;  // at most kKeptOfLibrary
};

std::string place_text(const FieldPlace& place) {
  if (place.offset == kMissing) return "nothing";
  return fmt::format("{} bytes at byte {}, crc32c 0x{:08x}", place.length, place.offset,
                     place.crc32c);
}

// Takes what the library reads, row by row.
class LibraryComparison {
 public:
  LibraryComparison(const ShardCheck& shard, LibraryVerdict& verdict)
      : shard_(shard), schema_(shard.manifest.schema), verdict_(verdict) {
    if (shard.reader.index_file() != nullptr) index_.emplace(shard.reader.open_index());
  }

  void take(const IndexRow& read) {
    const std::uint64_t row = rows_++;
    if (!index_ || row >= index_->rows()) return;
    const IndexRow indexed = index_->row(row);
    if (shard_.manifest.layout.has_keys) {
      compare(row, "key", read.key, indexed.key);
      if (read.key_hash != indexed.key_hash)
        add(row, "key", fmt::format("hash {:016x}", read.key_hash),
            fmt::format("{:016x}", indexed.key_hash));
    }
    for (std::size_t i = 0; i < schema_.fields.size(); ++i)
      compare(row, schema_.fields[i], read.cells[i], indexed.cells[i]);
    if (read.record_offset != indexed.record_offset || read.record_length != indexed.record_length)
      add(row, "record", fmt::format("{} bytes at byte {}", read.record_length, read.record_offset),
          fmt::format("{} bytes at byte {}", indexed.record_length, indexed.record_offset));
  }

  void add(Finding finding) {
    if (++verdict_.findings > kKeptOfLibrary) return;
    finding.shard = shard_.reader.shard().name;
    verdict_.first_findings.push_back(std::move(finding));
  }

  // A library that ended early has said so, and why: then the rows it lacks are not further
  // findings.
  void finish() {
    if (!index_ || rows_ == index_->rows() || verdict_.findings > 0) return;
    Finding finding =
        shard_.finding("the container's own library reads a different number of samples",
                       shard_.reader.shard().files[0].name, std::nullopt);
    finding.found = std::to_string(rows_);
    finding.expected = std::to_string(index_->rows());
    add(std::move(finding));
  }

 private:
  void compare(std::uint64_t row, const std::string& field, const FieldPlace& read,
               const FieldPlace& indexed) {
    if (read != indexed) add(row, field, place_text(read), place_text(indexed));
  }

  void compare(std::uint64_t row, const Field& field, const IndexCell& read,
               const IndexCell& indexed) {
    const auto bits = [](double real) { return std::bit_cast<std::uint64_t>(real); };
    if (is_located(field.kind)) {
      compare(row, field.name, read.place, indexed.place);
    } else if (field.kind == Kind::integer && read.integer != indexed.integer) {
      add(row, field.name, std::to_string(read.integer), std::to_string(indexed.integer));
    } else if (field.kind == Kind::real && bits(read.real) != bits(indexed.real)) {
      add(row, field.name, fmt::format("{}", read.real), fmt::format("{}", indexed.real));
    }
  }

  void add(std::uint64_t row, const std::string& field, std::string found, std::string expected) {
    if (verdict_.findings >= kKeptOfLibrary) {
      ++verdict_.findings;
      return;
    }
    Finding finding = shard_.finding("the container's own library reads a different value",
                                     shard_.reader.shard().files[0].name, std::nullopt, row);
    finding.field = field;
    finding.found = std::move(found);
    finding.expected = std::move(expected);
    add(std::move(finding));
  }

  const ShardCheck& shard_;
  const Schema& schema_;
  LibraryVerdict& verdict_;
  std::optional<IndexReader> index_;  // fixed rows have none
  std::uint64_t rows_ = 0;
};

// Lets the library of a format read a shard of shale's own, and compares each value with the index:
// place, checksum, number. Forks: while no task is under way. Memory: some 20 MiB in the child.
LibraryVerdict verify_by_library(const ShardCheck& shard, const Format& format,
                                 const std::function<void()>& ask) {
  LibraryVerdict verdict;
  LibraryComparison comparison(shard, verdict);
  const ManifestShard& manifest_shard = shard.reader.shard();
  const ShardInput input{.files = shard.reader.files(),
                         .schema = shard.manifest.schema,
                         .layout = shard.manifest.layout,
                         .reads_payload = true,
                         .samples = manifest_shard.digest.samples,
                         .bases = manifest_shard.bases};
  verdict.reading = format.scan_by_library(
      input, [&](const IndexRow& row) { comparison.take(row); },
      [&](Finding finding) { comparison.add(std::move(finding)); }, ask);
  if (verdict.reading.obstacle.empty()) comparison.finish();
  return verdict;
}

// Of a source that has an index the digests in it are compared: first its own bytes are proved, as
// those of the dataset are. Errors: Code::damaged.
void prove_source(const VerifyRequest& request, const Events& events) {
  const std::string& against = request.against.front();
  if (request.against.size() > 1 || look_at(against) == Place::absent) return;
  const bool is_set = look_at(against) == Place::dataset;
  const std::optional<std::string> file = is_set ? std::nullopt : file_of_path(against);
  const bool is_indexed = file && is_manifest(paths_of_index(*file, request.index_folder).manifest);
  if (!is_set && !is_indexed) return;
  VerifyRequest source = request;
  source.dataset = against;
  source.depth = std::min(request.depth, VerifyDepth::full);
  source.against.clear();
  source.is_strict = false;
  if (is_set) source.index_folder.clear();
  const VerifyReport report = verify(source, {}, events);
  if (report.findings == 0) return;
  throw Error(Code::damaged, "the source is damaged ({}), so it was not compared",
              format_counted(report.findings, "finding", "findings"))
      .at(against)
      .because(describe(report.first_findings.front()))
      .hint(fmt::format("run 'shale verify {}' to list what is damaged there", printable(against)));
}

// One dataset, shard by shard: which checks there are, and in which order.
class Verification {
 public:
  Verification(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log)
      : request_(request),
        dataset_(dataset),
        format_(format_of(dataset.manifest)),
        log_(log),
        verifier_(request, dataset, log, std::max(1U, request.jobs)) {}

  void run() {
    VerifyReport& report = log_.report();
    report.has_images = !decoded_fields(dataset_.manifest).empty();
    if (!layout().is_of_one_file()) {
      verifier_.files().check_beside_shards();
      if (std::optional<std::string> note = note_of_unfinished_run(request_.dataset))
        log_.note(std::move(*note));
    }
    check_shards();
    if (report.undecoded > 0) {
      log_.note(
          fmt::format("{} images have types that shale has no decoder for: their headers and "
                      "sizes were checked, but not their pixels",
                      format_count(report.undecoded)));
    }
    if (unasked_shards_ > 0) {
      log_.note(fmt::format("the second opinion of {} is missing for {} ({})",
                            report.second_opinion.library,
                            format_counted(unasked_shards_, "shard", "shards"), obstacle_));
    }
  }

 private:
  [[nodiscard]] const ShardLayout& layout() const { return dataset_.manifest.layout; }

  void check_shards() {
    if (request_.part) choose_part();
    const auto visit = [this](std::uint64_t number, bool is_proved) {
      log_.events().stop_if_asked();
      if (!is_proved && request_.part) {
        check_part(dataset_.shards[number]);
      } else if (!is_proved) {
        check_shard(dataset_.shards[number]);
      }
      ++log_.report().shards;
      log_.report().samples += dataset_.shards.samples(number);
    };
    if (!request_.part && SmallShards::can_prove(request_, dataset_)) {
      SmallShards(request_, dataset_, log_).prove_all(visit);
    } else {
      for (std::uint64_t number = 0; number < dataset_.shards.size(); ++number)
        visit(number, false);
    }
  }

  void choose_part() {
    std::uint64_t blocks = 0, bytes = 0;
    for (const ManifestShard& shard : dataset_.shards) {
      for (const ManifestFile& file : shard.files) blocks += block_count(file.bytes);
      bytes += bytes_of_files(shard);
    }
    part_ = blocks_of_part(*request_.part, blocks);
    log_.report().part = {.number = part_.number, .count = part_.count, .all_bytes = bytes};
    if (request_.part->is_of_day) {
      log_.note(fmt::format("today's part is {} of {}: run daily, the command reads all in {}",
                            part_.number, part_.count, format_counted(part_.count, "day", "days")));
    }
    log_.expect((part_.last - part_.first) * kBlockBytes);
  }

  void check_part(const ManifestShard& shard) {
    std::uint64_t blocks = 0;
    for (const ManifestFile& file : shard.files) blocks += block_count(file.bytes);
    const auto in_shard = [&](std::uint64_t block) {
      return std::min(std::max(block, blocks_before_) - blocks_before_, blocks);
    };
    const BlockRange range{in_shard(part_.first), in_shard(part_.last)};
    blocks_before_ += blocks;
    const std::uint64_t bytes_before = log_.report().bytes;
    (void)verifier_.verify(shard, log_.report().samples, {}, range);
    log_.report().part.bytes += log_.report().bytes - bytes_before;
  }

  void check_shard(const ManifestShard& shard) {
    const std::uint64_t damage_before = log_.damage();
    const std::shared_ptr<ShardCheck> check = verifier_.verify(shard, log_.report().samples);
    if (!check || request_.depth != VerifyDepth::deep) return;
    verifier_.tasks().prove_digests(check);
    if (log_.damage() == damage_before) ask_library(*check);
  }

  // Only about shards that are whole: what it says is then news, and damage does not kill it. No
  // task is under way.
  void ask_library(const ShardCheck& check) {
    const bool can_compare = layout().dialect == Dialect::own && layout().has_checksums;
    if (format_.scan_by_library == nullptr || !can_compare) return;
    verifier_.tasks().settle();
    const LibraryVerdict verdict =
        verify_by_library(check, format_, [this] { log_.events().stop_if_asked(); });
    for (const Finding& finding : verdict.first_findings) log_.add(finding);
    log_.count(verdict.findings - verdict.first_findings.size());
    SecondOpinion& opinion = log_.report().second_opinion;
    opinion.library = verdict.reading.library;
    opinion.findings += verdict.findings;
    if (verdict.reading.obstacle.empty()) {
      ++opinion.shards;
      opinion.samples += check.reader.shard().digest.samples;
    } else if (unasked_shards_++ == 0) {
      obstacle_ = verdict.reading.obstacle;
    }
  }

  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  const Format& format_;
  VerifyLog& log_;
  std::uint64_t unasked_shards_ = 0;
  BlocksOfPart part_;                // of VerifyRequest::part
  std::uint64_t blocks_before_ = 0;  // the shard at hand
  std::string obstacle_;             // why the first of them was not read by the library
  ShardVerifier verifier_;
};

void compare_with_source(const VerifyRequest& request, const OpenedDataset& dataset,
                         VerifyLog& log) {
  try {
    prove_source(request, log.events());
    verify_against(request, dataset, log);
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    log.add_damage(error, "");
    log.report().is_compared = false;
  }
}

// Of a file without an index there is nothing to verify but its structure, which is done; yet its
// samples can be compared.
void compare_unindexed(const VerifyRequest& request, VerifyLog& log) {
  const std::string& against = request.against.front();
  const bool is_folder = look_at(against) == Place::other_folder && !file_of_path(against);
  DatasetRequest opening = opening_of(request);
  opening.with_checksums = !is_folder;
  const OpenedDataset dataset = open_dataset(opening, log.events());
  prove_source(request, log.events());
  verify_against(request, dataset, log);
}

// `standing`: what is verified, as long as it is not replaced.
VerifyReport verify_standing(const VerifyRequest& request, const StandingState& standing,
                             const FindingSink& sink, const Events& events) {
  const FindingSink sink_of_standing = [&](const Finding& finding) {
    if (standing.is_replaced()) throw standing.replaced();
    if (sink) sink(finding);
  };
  VerifyLog log(sink_of_standing, events);
  const std::optional<OpenedDataset> dataset = open_to_verify(request, log);
  const bool has_blocks = dataset && dataset->manifest.layout.has_checksums;
  if (request.part && !has_blocks && log.findings() == 0) {
    throw Error(Code::unsupported, "has no lists of blocks, which --sample chooses among")
        .at(request.dataset)
        .hint(fmt::format("run '{}' to make them, or leave out --sample",
                          index_command(request.dataset, request.index_folder, {}, true)));
  }
  if (dataset) {
    Verification(request, *dataset, log).run();  // its threads and memory go with it
    if (!request.against.empty()) compare_with_source(request, *dataset, log);
  } else if (!request.against.empty() && log.findings() == 0) {
    compare_unindexed(request, log);
  }
  log.step();
  return std::move(log.report());
}

}  // namespace

VerifyReport verify(const VerifyRequest& request, const FindingSink& sink, const Events& events) {
  constexpr int kTries = 5;
  for (int tries = 1;; ++tries) {
    const StandingState standing(request.dataset);
    bool has_told = false;
    const FindingSink told = [&](const Finding& finding) {
      has_told = true;
      if (sink) sink(finding);
    };
    try {
      return verify_standing(request, standing, told, events);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted || !standing.is_replaced()) throw;
      if (has_told || tries == kTries) throw standing.replaced();
    }
  }
}

}  // namespace shale
