#include "shale/ops/parts.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/manifest_json.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntriesBesideParts = 10'000;

// All that the parts of a run have in common, by name.
Identity run_of(Manifest manifest) {
  Identity run = {{"version", manifest.generator}};
  if (manifest.part) run.emplace_back("number of parts", std::to_string(manifest.part->count));
  manifest.part.reset();
  // Each process of a program knows its own samples.
  ManifestSource& source = manifest.source;
  if (source.kind == kProgramKind) {
    source.samples = source.bytes = 0;
    source.fingerprint = {};
  }
  for (auto& entry : identity_of(manifest)) run.push_back(std::move(entry));
  for (ManifestMember& member : head_members(manifest)) {
    if (member.name == "schema" || member.name == "keys" || member.name == "layout")
      run.emplace_back(std::move(member.name), std::move(member.value));
  }
  return run;
}

// What a reader calls what differs: where both have a short value, and where one has none, or the
// values are hashes or long.
struct PlainWords {
  std::string_view name, one, several, otherwise;
};
constexpr PlainWords kPlainWords[] = {
    {"version", "it was written by {}, not {}", "it was written by {}, not {}", ""},
    {"number of parts", "it is one of {} part, not {}", "it is one of {} parts, not {}", ""},
    {"runs", "it was written by {} run, not {}", "it was written by {} runs, not {}",
     "it was appended to, or the other one was"},
    {"to", "its format is {}, not {}", "its format is {}, not {}", ""},
    {"shard_size", "its shards have at most {} byte, not {}",
     "its shards have at most {} bytes, not {}", ""},
    {"shard_samples", "its shards have at most {} sample, not {}",
     "its shards have at most {} samples, not {}", ""},
    {"hidden", "its --hidden is {}, not {}", "its --hidden is {}, not {}", ""},
    {"on_error", "its --on-error is {}, not {}", "its --on-error is {}, not {}", ""},
    {"ext", "", "", "it takes files with other suffixes (--ext)"},
    {kChosenSamples, "", "",
     "it takes other samples of the input, by --select, --exclude, --classes, --limit or --split"},
    {"input kind", "its input is of kind {}, not {}", "its input is of kind {}, not {}", ""},
    {"input samples", "its input has {} sample, not {}", "its input has {} samples, not {}", ""},
    {"input bytes", "its input has {} byte, not {}", "its input has {} bytes, not {}", ""},
    {"input fingerprint", "", "",
     "its input is another, or has changed: as many samples and bytes, but not the same files or "
     "content"},
    {"class table", "", "", "its input has other classes"},
    {kLabelsOption, "", "", "its samples have other labels"},
    {"schema", "", "", "it has other fields"},
    {"keys", "its keys are {}, not {}", "its keys are {}, not {}", "it has other keys"},
    {"layout", "", "", "its shards are laid out in another way"},
};

// Of a split each has its own. What has very many entries is somebody's data.
std::string hint_of_splits(const std::string& place) {
  std::string named;
  std::size_t left = kMostEntriesBesideParts;
  for (const auto& entry : fs::directory_iterator(place)) {
    std::error_code error;
    if (!entry.is_directory(error) || error) continue;
    for (fs::directory_iterator inner(entry.path(), error), end;
         !error && inner != end && left-- > 0; inner.increment(error)) {
      if (!part_of_name(inner->path().filename().string())) continue;
      const std::string path = join_path(place, entry.path().filename().string());
      if (named.empty() || path < named) named = path;
      break;
    }
  }
  return named.empty() ? "" : "each split has its own: name one, " + printable(named);
}

class PartSearch {
 public:
  explicit PartSearch(const Events& events) : events_(events) {}

  void look_in(const std::string& place) {
    switch (look_at(place)) {
      case Place::absent:
        throw absent(place);
      case Place::dataset:
      case Place::unfinished:
        return take(place, part_of_name(fs::path(fs::absolute(place)).filename().string()));
      case Place::other_file:
        throw Error(Code::not_found, "is a file, and parts are directories").at(place);
      case Place::empty_folder:
      case Place::other_folder:
        break;
    }
    const std::size_t before = report_.parts.size();
    for (const auto& entry : fs::directory_iterator(place)) {
      const std::string name = entry.path().filename().string();
      if (const std::optional<PartNumber> number = part_of_name(name))
        take(join_path(place, name), number);
    }
    if (report_.parts.size() > before) return;
    throw Error(Code::not_found, "holds no parts of a dataset")
        .at(place)
        .hint(hint_of_splits(place))
        .hint("parts are written by 'shale convert INPUT OUTPUT --part I/N', into OUTPUT");
  }

  // Every file of what is complete has the hash that its manifest gives.
  void prove_bytes() {
    std::uint64_t all = 0;
    const auto add = [&](FoundPart&, const ManifestFile& file) { all += file.bytes; };
    for (FoundPart& part : report_.parts) for_each_file(part, add);
    std::uint64_t done = 0;
    const auto prove = [&](FoundPart& part, const ManifestFile& file) {
      if (part.state != PartState::complete) return;
      const std::string path = join_path(part.path, file.name);
      try {
        prove_file(InputFile(path), file, [&](std::uint64_t) { events_.stop_if_asked(); });
      } catch (const Error& error) {
        if (error.code() != Code::damaged) throw;
        part.state = PartState::damaged;
        part.fault = fmt::format("{}: {}", path, error.message());
      }
      done += file.bytes;
      events_.report(done, all, done);
    };
    for (FoundPart& part : report_.parts) for_each_file(part, prove);
  }

  PartsReport finish() {
    std::ranges::sort(report_.parts, {}, [](const FoundPart& part) {
      return std::pair(part.number.index, part.path);
    });
    compare_runs();
    std::set<std::uint64_t> there, complete;
    for (const FoundPart& part : report_.parts) {
      if (part.number.count == report_.count) there.insert(part.number.index);
      if (part.state == PartState::complete) complete.insert(part.number.index);
    }
    for (std::uint64_t index = 0; index < report_.count; ++index) {
      if (!there.contains(index)) report_.absent.push_back(index);
      if (!complete.contains(index)) report_.missing.push_back(index);
    }
    return std::move(report_);
  }

 private:
  void take(const std::string& path, const std::optional<PartNumber>& by_name) {
    events_.stop_if_asked();
    FoundPart part{.path = path, .number = by_name.value_or(PartNumber{})};
    switch (look_at(path)) {
      case Place::absent:
      case Place::empty_folder:
      case Place::other_file:
        return;
      case Place::unfinished:
        if (!by_name) throw unfinished(path);
        part.state = PartState::unfinished;
        break;
      case Place::other_folder:
        part.state = PartState::damaged;
        part.fault = fmt::format("{} is missing", kManifestName);
        break;
      case Place::dataset:
        prove(part, by_name.has_value());
        break;
    }
    report_.parts.push_back(std::move(part));
  }

  static void prove(FoundPart& part, bool has_name) {
    try {
      const Manifest manifest = refuse_incomplete(part.path);
      if (!manifest.part) {
        throw Error(Code::usage, "is a dataset, but not a part of one")
            .at(part.path)
            .hint(
                "only the parts of one run are merged; 'shale convert' reads one dataset at a "
                "time");
      }
      part.number = *manifest.part;
    } catch (const Error& error) {
      if (error.code() != Code::damaged || !has_name) throw;
      part.state = PartState::damaged;
      part.fault = error.file().empty() ? error.message()
                                        : fmt::format("{}: {}", error.file(), error.message());
    }
  }

  template <class Use>
  static void for_each_file(FoundPart& part, const Use& use) {
    if (part.state != PartState::complete) return;
    const auto use_named = [&](const ManifestFile& file) {
      if (!file.name.empty()) use(part, file);
    };
    const Manifest manifest = read_manifest(part.path, [&](const ManifestShard& shard) {
      for (const ManifestFile& file : shard.files) use_named(file);
      for (const ManifestFile* list : shard.lists()) use_named(*list);
    });
    for (const ManifestFile& file : manifest.files) use_named(file);
  }

  void compare_runs() {
    std::optional<Manifest> first;
    const FoundPart* said_by = nullptr;
    for (FoundPart& part : report_.parts) {
      if (part.state != PartState::complete) continue;
      events_.stop_if_asked();
      const Manifest manifest = read_manifest(part.path);
      if (!first) {
        first = manifest;
        said_by = &part;
        continue;
      }
      if (const auto difference = difference_of_runs(*first, manifest)) {
        part.state = PartState::other_run;
        part.fault = fmt::format("{} (compared with {})", *difference, said_by->path);
      }
    }
    for (const FoundPart& part : report_.parts) {
      if (first && &part != said_by) continue;
      report_.count = std::max(report_.count, part.number.count);
    }
    for (FoundPart& part : report_.parts) {
      if (part.number.count == report_.count || part.state == PartState::other_run) continue;
      part.state = PartState::other_run;
      part.fault = fmt::format("it is one of {} parts, not {}", part.number.count, report_.count);
    }
  }

  const Events& events_;
  PartsReport report_;
};

}  // namespace

bool PartsReport::holds_damage() const {
  return std::ranges::any_of(
      parts, [](const FoundPart& part) { return part.state == PartState::damaged; });
}

std::string twice(const FoundPart& part, const FoundPart& other) {
  return part.path == other.path ? fmt::format("part {} is named twice", part.number.index)
                                 : fmt::format("part {} is there twice; it is also {}",
                                               part.number.index, printable(other.path));
}

PartsReport find_parts(const std::vector<std::string>& places, const Events& events,
                       bool proves_bytes) {
  PartSearch search(events);
  for (const std::string& place : places) search.look_in(place);
  if (proves_bytes) search.prove_bytes();
  return search.finish();
}

std::optional<std::string> difference_of_runs(const Manifest& one, const Manifest& other) {
  const Identity was = run_of(one), is = run_of(other);
  for (std::size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    if (i < was.size() && i < is.size() && was[i] == is[i]) continue;
    // What only one of them has stands where the other has what comes next.
    const bool has_both = i < was.size() && i < is.size() && was[i].first == is[i].first;
    const bool is_of_other = has_both || i >= was.size() ||
                             (i < is.size() && std::ranges::none_of(was, [&](const auto& entry) {
                                return entry.first == is[i].first;
                              }));
    const std::string& name = is_of_other ? is[i].first : was[i].first;
    const bool is_short = has_both && was[i].second.size() < 32 && is[i].second.size() < 32;
    const auto words = std::ranges::find(kPlainWords, std::string_view(name), &PlainWords::name);
    const bool is_known = words != std::end(kPlainWords);
    if (is_known && is_short && !words->several.empty()) {
      return fmt::format(fmt::runtime(is[i].second == "1" ? words->one : words->several),
                         printable(is[i].second), printable(was[i].second));
    }
    if (is_known && !words->otherwise.empty()) return std::string(words->otherwise);
    return is_short ? fmt::format("its {} is {}, not {}", name, printable(is[i].second),
                                  printable(was[i].second))
                    : fmt::format("it differs in its {}", name);
  }
  return std::nullopt;
}

std::string array_expression(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[begin]);
    if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace shale
