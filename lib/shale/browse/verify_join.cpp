#include "shale/browse/verify_join.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/format/source.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kFixedRowsAtOnce = 4096;

}  // namespace

JoinVerdict verify_join(const InputRequest& request, const FindingSink& sink,
                        const Events& events) {
  JoinVerdict verdict;
  const auto add = [&](std::string message, const std::string& file, SampleId sample) {
    ++verdict.alone;
    Finding finding;
    finding.message = std::move(message);
    finding.file = file;
    finding.sample = std::move(sample);
    if (sink) sink(std::move(finding));
  };
  InputRequest join = request;
  join.join.tell_alone = [&](const std::string& input, const std::string& key, std::uint64_t row) {
    add("has no partner", input, {key, row});
  };
  const std::unique_ptr<Source> source = open_input(join, temporary_folder(), events);
  verdict.notes = source->info().notes;
  const std::uint64_t rows = source->info().row_bytes ? kFixedRowsAtOnce : 1;
  while (const std::optional<PendingSample> sample = source->next(rows)) {
    events.stop_if_asked();
    if (!sample->damage.empty())
      throw Error(Code::damaged, "{}", sample->damage)
          .for_sample(sample->key, sample->first_number);
    if (!sample->lacks.empty()) {
      add(sample->lacks, {}, {sample->key, sample->first_number});
      continue;
    }
    verdict.samples += sample->rows;
    verdict.bytes += sample->bytes;
  }
  return verdict;
}

}  // namespace shale
