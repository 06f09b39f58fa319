#include "shale/ops/check_input.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "shale/annotations/annotation_rows.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/format/format.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/metadata_file.hpp"
#include "shale/sources/input_kind.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

// Whose images a survey looks at.
constexpr std::uint64_t kSurveyedSamples = 256;
// Class folders of a stream that are counted.
constexpr std::size_t kMostTops = 100'000;

char lower_of(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), lower_of);
  return text;
}

std::string suffix_of_key(std::string_view key) {
  const std::string_view name = key.substr(key.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string suffix = lower_case(std::string(name.substr(std::min(dot, name.size()))));
  return suffix.empty() ? "no suffix" : suffix;
}

// What the names of partners end in, and those of their images.
struct PartnerEnding {
  std::string_view partner, image, field;
};
constexpr PartnerEnding kPartnerEndings[] = {
    {"_mask", "", "mask"},       {"-mask", "", "mask"},
    {"_mask", "_image", "mask"}, {"_mask", "_sat", "mask"},
    {"_seg", "", "mask"},        {"_segmentation", "", "mask"},
    {"_label", "", "mask"},      {"_gt", "", "mask"},
    {"_depth", "", "depth"},     {"_gtFine_labelIds", "_leftImg8bit", "mask"}};

// The keys of the first files of an input, among which partners are looked for.
class SeenKeys {
 public:
  void note(std::string_view key) {
    constexpr std::size_t kMost = 20'000;
    if (keys_.size() == kMost || !keys_.emplace(key).second) return;
    suffixes_.insert(suffix_as_written(key));
    if (const std::size_t slash = key.find('/'); slash != std::string_view::npos)
      tops_.emplace(key.substr(0, slash + 1));
  }

  // The patterns that join most of them; empty: there are not partners.
  [[nodiscard]] std::string patterns() const {
    std::map<std::string, std::size_t> found;
    for (const PartnerEnding& ending : kPartnerEndings) {
      for (const std::string& key : keys_) note_partner(key, ending, found);
    }
    const auto most =
        std::ranges::max_element(found, {}, [](const auto& one) { return one.second; });
    // A few names that happen to end so are not partners.
    return most == found.end() || most->second * 4 < keys_.size() ? "" : most->first;
  }

 private:
  static std::string suffix_as_written(std::string_view key) {
    const std::size_t dot = key.rfind('.'), slash = key.rfind('/');
    const bool has_one =
        dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
    return has_one ? std::string(key.substr(dot)) : std::string();
  }

  void note_partner(const std::string& key, const PartnerEnding& ending,
                    std::map<std::string, std::size_t>& found) const {
    const std::string suffix = suffix_as_written(key);
    std::string stem = key.substr(0, key.size() - suffix.size());
    if (suffix.empty() || !stem.ends_with(ending.partner)) return;
    stem.resize(stem.size() - ending.partner.size());
    const auto note = [&](std::string_view top, std::string_view other, const std::string& path) {
      for (const std::string& image : suffixes_) {
        if (!keys_.contains(fmt::format("{}{}{}", path, ending.image, image))) continue;
        ++found[fmt::format("image={}*{}{},{}={}*{}{}", other, ending.image, image, ending.field,
                            top, ending.partner, suffix)];
      }
    };
    note("", "", stem);
    for (const std::string& top : tops_) {
      if (!stem.starts_with(top)) continue;
      for (const std::string& other : tops_)
        if (other != top) note(top, other, other + stem.substr(top.size()));
    }
  }

  std::set<std::string, std::less<>> keys_;
  std::set<std::string> suffixes_, tops_;
};

// Which samples of an input are read.
struct ReadSamples {
  std::uint64_t step = 1;        // one of so many
  std::uint64_t most_bytes = 0;  // 0: of any size
};

// Counts all samples of a source, and gives some of them, evenly spread.
class CountedSource final : public Source {
 public:
  CountedSource(Source& source, const ReadSamples& wanted, InputCheck& check)
      : source_(source),
        wanted_(wanted),
        has_paths_(made_from(source.info().manifest.kind).is_files &&
                   source.info().manifest.kind != kVideoFrames),
        check_(check),
        label_(label_of(source.info().schema, source.info().fields)) {
    check_.class_samples.resize(source.info().classes.size());
  }

  [[nodiscard]] const SourceInfo& info() const override { return source_.info(); }
  [[nodiscard]] std::string patterns() const { return seen_.patterns(); }
  /// Samples by the folder at the top that they are in; those in none have none.
  [[nodiscard]] const NamedCounts& tops() const { return tops_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    while (std::optional<PendingSample> sample = source_.next(wanted_.step == 1 ? most_rows : 1)) {
      count(*sample);
      const bool is_too_large = wanted_.most_bytes > 0 && sample->bytes > wanted_.most_bytes;
      if ((check_.samples - 1) % wanted_.step == 0 && !is_too_large) return sample;
    }
    return std::nullopt;
  }

 private:
  void count(const PendingSample& sample) {
    check_.samples += sample.rows;
    check_.bytes += sample.bytes;
    if (has_paths_) {
      ++check_.suffixes[suffix_of_key(sample.key)];
      seen_.note(sample.key);
      if (const std::size_t slash = sample.key.find('/');
          source_.info().is_stream && slash != std::string::npos && tops_.size() < kMostTops)
        ++tops_[sample.key.substr(0, slash)];
    }
    if (!label_ || *label_ >= sample.cells.size() || !sample.lacks.empty()) return;
    const std::int64_t label = sample.cells[*label_].integer;
    if (label >= 0 && static_cast<std::uint64_t>(label) < check_.class_samples.size())
      ++check_.class_samples[static_cast<std::size_t>(label)];
  }

  Source& source_;
  const ReadSamples wanted_;
  const bool has_paths_;
  InputCheck& check_;
  const std::optional<std::size_t> label_;
  SeenKeys seen_;
  NamedCounts tops_;
};

// Whatever the samples are, it holds them.
const Format& format_for_all() {
  for (const Format* format : all_formats()) {
    if (format->can.holds_ragged && format->can.holds_optional && format->can.holds_slashes)
      return *format;
  }
  throw Error(Code::bug, "no format holds all samples");
}

// With all that a conversion refuses as a whole, so that the rest of it can be checked.
InputRequest lenient(InputRequest request) {
  request.files.allow_empty = true;
  request.files.may_be_flat = true;
  request.files.hidden = HiddenPolicy::skip;
  return request;
}

// Of a stream the classes have no numbers before all of it has been read: it is read once, without.
bool has_unknown_classes(const InputRequest& request) {
  return request.classes.from.empty() && !request.labels.is_given() &&
         request.fields.takes(kLabelField) && stream_of_path(request.inputs.front()).has_value();
}

// What a conversion says to these classes, and which they are.
void look_at_classes(const InputRequest& asked, const NamedCounts& tops, const std::string& scratch,
                     InputCheck& check, const Events& events) {
  const SoughtFiles sought(asked.files.suffixes);
  if (tops.empty()) {
    check.refusal = no_classes(sought, check.samples, asked.inputs.front(), "");
    return;
  }
  // Where all names are numbers, nothing is refused.
  if (std::ranges::all_of(tops, [](const auto& top) {
        return top.first.find_first_not_of("0123456789") == std::string::npos;
      }))
    return;
  try {
    const std::unique_ptr<Source> source = open_input(asked, scratch, events);
    while (source->next(1)) events.stop_if_asked();
  } catch (const Error& error) {
    if (error.code() != Code::usage && error.code() != Code::bad_content) throw;
    check.refusal = error;
  }
  check.kind = sought.are_images() ? kImageFolder : kClassFolders;
  check.class_samples.clear();
  for (const auto& [name, count] : tops) {
    check.classes.push_back(name);
    check.class_samples.push_back(count);
  }
}

std::unique_ptr<Source> open_to_check(const InputRequest& request, const std::string& scratch,
                                      InputCheck& check, const Events& events) {
  try {
    return open_input(request, scratch, events);
  } catch (const Error& error) {
    if (error.code() != Code::bad_content) throw;
    check.refusal = error;
  }
  std::unique_ptr<Source> source = open_input(lenient(request), scratch, events);
  if (source->info().manifest.samples == 0) throw Error(*check.refusal);
  return source;
}

void read_samples(Source& source, const InputRequest& request, CheckDepth depth,
                  const FindingSink& sink, InputCheck& check, const Events& events) {
  const Format& format = format_for_all();
  const OptionSet options(format.options);
  Encoding encoding{format, options, format.layout(source.info().schema, options)};
  encoding.layout.has_elements = source.info().schema.has_lists();
  encoding.decodes_images = depth == CheckDepth::pixels;
  encode_all(source, encoding,
             {.jobs = std::max(1U, request.jobs),
              .memory_bytes = request.memory_bytes / 2 + request.memory_bytes / 8},
             events, [&](const EncodedSample& sample) {
               ++check.looked_at;
               check.undecoded += sample.undecoded;
               if (sample.all_images) {
                 check.images.add(*sample.all_images);
               } else if (sample.image) {
                 ++check.images.types[std::string(name_of(sample.image->type))];
                 check.images.sizes.count(sample.image->width, sample.image->height);
               }
               if (sample.image) {
                 for (const std::string_view odd : sample.image->odd)
                   ++check.images.odd[std::string(odd)];
               }
               if (sample.fault.empty()) return;
               ++check.bad;
               ++check.faults[std::string(name_of(sample.fault.code))];
               if (!sink) return;
               Finding finding;
               finding.message = sample.fault.text;
               finding.sample = SampleId{sample.key, std::nullopt};
               sink(std::move(finding));
             });
}

bool may_hold_labels(const std::string& name, std::string_view folder) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.starts_with('.')) return false;
  const std::string stem = lower_case(name.substr(0, dot)), suffix = suffix_of_key(name);
  if (suffix == ".csv" || suffix == ".tsv") return true;
  if (suffix != ".txt" && suffix != ".json") return false;
  constexpr std::string_view kWords[] = {"label", "annotation", "train", "val",
                                         "test",  "list",       "gt",    "instances"};
  return stem == folder || std::ranges::any_of(kWords, [&](std::string_view word) {
           return stem.find(word) != std::string::npos;
         });
}

// The folder of annotations that belongs to one of images as Ultralytics has them: images/train and
// labels/train; empty: there is none.
std::string labels_of_images(const std::string& root) {
  constexpr std::string_view kImages = "images";
  for (std::size_t end = root.size(); end != 0 && end != std::string::npos;) {
    const std::size_t slash = root.rfind('/', end - 1);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (root.substr(begin, end - begin) == kImages)
      return root.substr(0, begin) + "labels" + root.substr(end);
    end = slash;
  }
  return {};
}

// Of the folder, the files in it and beside it that may be lists of labels, by their names, and
// folders of annotations.
std::vector<std::string> label_files_of(const std::string& folder) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> files, folders;
  const std::string root = folder.substr(0, folder.find_last_not_of('/') + 1);
  const std::string name = root.substr(root.rfind('/') + 1);
  const auto look = [&](const std::string& place, const std::string& prefix) {
    std::vector<std::string> found;
    visit_names(place, [&](const std::string& entry) {
      const bool is_one = may_hold_labels(entry, name) && !is_metadata_name(entry);
      const bool is_folder = lower_case(entry) == "annotations" || entry == "labels";
      const std::optional<struct stat> facts =
          is_one || is_folder ? facts_behind(join_path(place, entry)) : std::nullopt;
      if (facts && S_ISREG(facts->st_mode)) found.push_back(join_path(prefix, entry));
      if (facts && S_ISDIR(facts->st_mode)) folders.push_back(join_path(prefix, entry));
      return found.size() < kMost;
    });
    std::ranges::sort(found);
    // COCO's folder has files for other images, too, and they are large.
    const auto has_name = [&](const std::string& file) {
      return file.find(name, prefix.size()) != std::string::npos;
    };
    if (lower_case(place).ends_with("/annotations") && std::ranges::any_of(found, has_name))
      std::erase_if(found, std::not_fn(has_name));
    std::ranges::move(found, std::back_inserter(files));
  };
  look(root, root);
  const std::filesystem::path parent = std::filesystem::path(root).parent_path();
  if (name != "." && name != "..") look(parent.empty() ? "." : parent.string(), parent.string());
  folders.push_back(root);
  if (const std::string labels = labels_of_images(root); facts_behind(labels))
    folders.push_back(labels);
  for (const std::string& one : std::exchange(folders, {})) {
    if (annotation_form(one) != AnnotationForm::none &&
        std::ranges::find(files, one) == files.end())
      files.push_back(one);
    else if (one != root)
      look(one, one);
  }
  if (files.size() > kMost) files.resize(kMost);
  return files;
}

// The command is given only where it works: the files are joined as it would join them.
SeenLabels try_labels(const InputRequest& request, const std::string& file,
                      const std::string& scratch, const Events& events) {
  SeenLabels seen{.file = file};
  InputRequest labelled = request;
  labelled.labels.path = file;
  try {
    const std::unique_ptr<Source> source = open_input(labelled, scratch, events);
    while (const std::optional<PendingSample> sample = source->next(1)) {
      events.stop_if_asked();
      seen.samples += sample->lacks.empty() ? 1 : 0;
    }
    if (seen.samples == 0) seen.reason = "has no row for any of the files";
  } catch (const Error& error) {
    if (error.code() == Code::interrupted || error.code() == Code::io) throw;
    seen.reason = error.message();
    if (!error.hint().empty()) seen.reason += "; " + error.hint();
  }
  if (seen.reason.empty())
    seen.command = fmt::format(
        "shale convert {} out --to record{} --labels {}", shell_word(request.inputs.front()),
        request.files.suffixes.empty() ? "" : " --ext " + request.files.suffixes, shell_word(file));
  return seen;
}

}  // namespace

InputCheck check_input(const InputRequest& asked, CheckDepth depth, const FindingSink& sink,
                       const Events& events) {
  InputRequest request = asked;
  const bool is_without_classes = has_unknown_classes(asked);
  if (is_without_classes) request.fields.dropped.emplace_back(kLabelField);
  InputCheck check;
  const std::string scratch = temporary_folder();
  const std::unique_ptr<Source> source = open_to_check(request, scratch, check, events);
  ReadSamples wanted;
  if (depth == CheckDepth::survey) {
    wanted.step = std::max<std::uint64_t>(1, source->info().manifest.samples / kSurveyedSamples);
    wanted.most_bytes = request.memory_bytes / 8;
  }
  CountedSource counted(*source, wanted, check);
  read_samples(counted, request, depth, sink, check, events);
  const SourceInfo& info = source->info();
  check.kind = info.manifest.kind;
  check.schema = info.schema;
  check.classes = info.classes;
  check.class_samples.resize(info.classes.size());
  if (is_without_classes && depth == CheckDepth::survey)
    look_at_classes(asked, counted.tops(), scratch, check, events);
  check.left_out = info.left_out;
  check.notes = info.notes;
  if (const std::string patterns = counted.patterns(); info.pairs.empty() && !patterns.empty())
    check.notes.push_back(
        fmt::format("names end as those of images and their partners do: --pairs '{}' makes one "
                    "sample of both",
                    patterns));
  check.ignored = info.ignored;
  source->list_ignored([&](std::string_view entry, std::string_view reason) {
    events.stop_if_asked();
    ++check.ignored_by[std::string(reason)];
    check.first_ignored.try_emplace(std::string(reason), entry);
  });
  const std::string& folder = request.inputs.front();
  std::error_code error;  // an archive is not one
  const bool wants_labels = depth == CheckDepth::survey && request.labels.path.empty();
  if (!wants_labels || !std::filesystem::is_directory(folder, error)) return check;
  for (const std::string& file : label_files_of(folder)) {
    SeenLabels seen = try_labels(request, file, scratch, events);
    // What is only beside the folder may be of another one.
    const bool is_in_it = file.starts_with(folder) && file.size() > folder.size() + 1;
    if (!seen.command.empty() || is_in_it) check.labels.push_back(std::move(seen));
  }
  return check;
}

}  // namespace shale
