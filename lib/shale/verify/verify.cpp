#include "shale/verify/verify.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/shard_verifier.hpp"
#include "shale/verify/small_shards.hpp"
#include "shale/verify/verify_against.hpp"
#include "shale/verify/verify_library.hpp"
#include "shale/verify/verify_log.hpp"

namespace shale {
namespace {

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
    report.has_images = !image_fields_of(dataset_.manifest).empty();
    if (!layout().is_of_one_file()) verifier_.files().check_beside_shards();
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
    if (!request_.against.empty()) compare_with_source();
  }

 private:
  [[nodiscard]] const ShardLayout& layout() const { return dataset_.manifest.layout; }

  void compare_with_source() {
    try {
      verify_against(
          request_, dataset_, [this](Finding finding) { log_.add(std::move(finding)); },
          log_.events(), log_.report().notes);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      log_.add_damage(error, "");
      log_.report().is_compared = false;
    }
  }

  void check_shards() {
    const auto visit = [this](std::uint64_t number, bool is_proved) {
      log_.events().stop_if_asked();
      if (!is_proved) check_shard(dataset_.shards[number]);
      ++log_.report().shards;
      log_.report().samples += dataset_.shards.samples(number);
    };
    if (SmallShards::can_prove(request_, dataset_)) {
      SmallShards(request_, dataset_, log_).prove_all(visit);
    } else {
      for (std::uint64_t number = 0; number < dataset_.shards.size(); ++number)
        visit(number, false);
    }
  }

  void check_shard(const ManifestShard& shard) {
    const std::uint64_t damage_before = damage();
    const std::shared_ptr<ShardCheck> check = verifier_.verify(shard, log_.report().samples);
    if (!check || request_.depth != VerifyDepth::deep) return;
    verifier_.tasks().prove_digests(check);
    if (damage() == damage_before) ask_library(*check);
  }

  // Images that were bad when they were written are not damage.
  [[nodiscard]] std::uint64_t damage() const {
    return log_.findings() - log_.report().bad_when_written;
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
  std::string obstacle_;  // why the first of them was not read by the library
  ShardVerifier verifier_;
};

// Of a file without an index there is nothing to verify but its structure, which is done; yet its
// samples can be compared.
void compare_unindexed(const VerifyRequest& request, VerifyLog& log) {
  const std::string& against = request.against.front();
  const bool is_folder = look_at(against) == Place::other_folder && !file_of_path(against);
  const OpenedDataset dataset = open_dataset({.path = request.dataset,
                                              .index_folder = request.index_folder,
                                              .with_checksums = !is_folder,
                                              .generator = request.generator,
                                              .memory_bytes = request.memory_bytes},
                                             log.events());
  verify_against(
      request, dataset, [&](Finding finding) { log.add(std::move(finding)); }, log.events(),
      log.report().notes);
}

}  // namespace

VerifyReport verify(const VerifyRequest& request, const FindingSink& sink, const Events& events) {
  VerifyLog log(sink, events);
  if (const std::optional<OpenedDataset> dataset = open_to_verify(request, log)) {
    Verification(request, *dataset, log).run();
  } else if (!request.against.empty() && log.findings() == 0) {
    compare_unindexed(request, log);
  }
  log.step();
  return std::move(log.report());
}

}  // namespace shale
