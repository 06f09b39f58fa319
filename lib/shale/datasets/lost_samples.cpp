#include "shale/datasets/lost_samples.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

namespace {

std::string file_name_of(const LostSamples& lost) {
  return lost.file.substr(lost.file.rfind('/') + 1);
}

}  // namespace

AmongLost::AmongLost(const std::vector<LostSamples>& lost) : lost_(lost) {
  std::uint64_t samples = 0;
  for (const LostSamples& one : lost) {
    samples_before_.push_back(samples);
    samples += one.range.samples;
  }
  samples_before_.push_back(samples);
}

AmongLost::Place AmongLost::at(std::uint64_t sample) const {
  // Before entry i come `before` rows and i entries.
  std::size_t next = 0;
  for (std::size_t count = lost_.size(); count > 0;) {
    const std::size_t middle = next + count / 2;
    const bool comes_before = lost_[middle].range.before + middle < sample;
    count = comes_before ? count - count / 2 - 1 : count / 2;
    if (comes_before) next = middle + 1;
  }
  const std::uint64_t row = sample - next;
  const bool has_next = next < lost_.size();
  return {.lost = has_next && lost_[next].range.before == row ? &lost_[next] : nullptr,
          .row = row,
          .number = row + samples_before_[next],
          .rows_to_lost = has_next ? lost_[next].range.before - row
                                   : std::numeric_limits<std::uint64_t>::max()};
}

std::string AmongLost::note() const {
  if (lost_.empty()) return {};
  const std::string& first = lost_.front().file;
  const bool is_one =
      std::ranges::all_of(lost_, [&](const LostSamples& one) { return one.file == first; });
  return fmt::format("{} damaged: {} left out",
                     is_one ? printable(first) + " is" : "files of the input are",
                     format_counted(lost_.size(), "part of it is", "parts are"));
}

PendingSample lost_sample(const LostSamples& lost, std::uint64_t number, const Schema& schema) {
  const LostRange& range = lost.range;
  const std::string name = file_name_of(lost);
  const bool has_number = !schema.has_keys && range.samples > 0;
  PendingSample sample;
  sample.first_number = number;
  sample.key = !range.key.empty() ? range.key
               : has_number       ? std::to_string(number)
                                  : fmt::format("{} byte {}", name, range.offset);
  sample.cells.resize(schema.fields.size());
  // Where it has a place in the file.
  std::string place =
      range.length == 0 && range.offset == 0
          ? ""
          : fmt::format("byte {}{}: ", range.offset, range.length == 0 ? "" : " on");
  if (range.length > 0) place = format_counted(range.length, "byte", "bytes") + " from " + place;
  sample.damage = fmt::format("{}: {}{}", name, place, range.why);
  return sample;
}

Finding finding_of_lost(const LostSamples& lost) {
  Finding finding;
  finding.message = lost.range.why;
  finding.file = file_name_of(lost);
  if (lost.range.offset > 0) finding.offset = lost.range.offset;
  if (lost.range.length > 0) finding.length = lost.range.length;
  return finding;
}

}  // namespace shale
