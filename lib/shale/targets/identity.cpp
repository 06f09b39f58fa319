#include "shale/targets/identity.hpp"

#include <algorithm>

#include "shale/base/checksum.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/field_type.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/format/row_groups.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_pattern.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/partners/file_pairs.hpp"

namespace shale {
namespace {

constexpr std::string_view kPartMember = "part", kRuns = "runs", kCodecOf = "codec of ";

// An entry that one of two identities has, and what that means for either.
struct Difference {
  std::string_view name, with, without;
};
constexpr Difference kOfTheInput[] = {
    {kSuffixesOption, "files by --ext", "images"},
    {kPairsOption, "files with their partners", "files alone"},
    {kMetadataOption, "files with their metadata", "files alone"},
    {kFoldersOption, "several folders", "one input"},
    {kFieldsOption, "fields that were chosen or renamed", "fields as they are"},
    {kLossyOption, "the nearest of numbers that do not fit", "numbers that fit"},
    {kParseOption, "samples found by --parse", "samples as they are recognized"},
    {kDatabaseOption, "named databases", "the file as it is"},
    {kAxisOption, "arrays along the axes of --axis", "arrays along their first axis"},
    {kRawOption, "numbers as --raw says", "files that say what they hold"},
    {kLayoutOption, "files of a layout", "shards"},
    {kRowGroupOption, "row groups of --row-group-size", "row groups of the usual size"},
};

bool has_entry(const Identity& identity, std::string_view name) {
  return std::ranges::any_of(identity, [&](const auto& entry) { return entry.first == name; });
}

std::string_view name_of(HiddenPolicy policy) {
  return policy == HiddenPolicy::keep ? "keep" : policy == HiddenPolicy::skip ? "skip" : "unset";
}

std::string_view name_of(OnError on_error) {
  return on_error == OnError::keep ? "keep" : on_error == OnError::fail ? "fail" : "skip";
}

// "image work on 'image', 'mask'".
std::string worked_on(const Identity& identity) {
  std::string fields;
  for (const auto& entry : identity) {
    if (!entry.first.starts_with(kCodecOf)) continue;
    fields += (fields.empty() ? "'" : ", '") + entry.first.substr(kCodecOf.size()) + "'";
  }
  return fields.empty() ? "no image work" : "image work on " + fields;
}

// A draw of all rows in a shuffled order is a shuffle, whichever command asked for it.
void add_order(Identity& options, const ConvertRequest& request, const SourceInfo& source) {
  DrawRequest draw;
  draw.seed = request.order.seed;
  if (request.order.draw) draw = *request.order.draw;
  const bool is_shuffle = draw.mode == DrawMode::permute && !draw.rows;
  if (!request.order.draw && !request.order.is_shuffled) {
    options.emplace_back("shuffle", "no");
    options.emplace_back("seed", "unused");
    return;
  }
  options.emplace_back("shuffle", is_shuffle ? "yes" : name_of(draw.mode));
  options.emplace_back("seed",
                       draw.mode == DrawMode::indices ? "unused" : std::to_string(draw.seed));
  if (is_shuffle) return;
  options.emplace_back("rows", std::to_string(source.manifest.samples));
  if (!draw.file.empty()) options.emplace_back("draw file", hash_of_draw_file(draw.file).hex());
}

}  // namespace

Identity shaping_options(const ConvertRequest& request, const SourceInfo& source) {
  Identity options;
  options.emplace_back("shard_size", std::to_string(request.shard_bytes));
  options.emplace_back("shard_samples", request.shard_samples == ~std::uint64_t{0}
                                            ? "unlimited"
                                            : std::to_string(request.shard_samples));
  add_order(options, request, source);
  if (source.chosen != Hash128{}) options.emplace_back(kChosenSamples, source.chosen.hex());
  options.emplace_back("hidden",
                       source.hidden.empty() ? name_of(request.files.hidden) : source.hidden);
  if (!source.suffixes.empty()) options.emplace_back(kSuffixesOption, source.suffixes);
  if (!source.pairs.empty()) options.emplace_back(kPairsOption, source.pairs);
  if (!source.metadata.empty()) options.emplace_back(kMetadataOption, source.metadata);
  if (!source.folders.empty()) options.emplace_back(kFoldersOption, source.folders);
  if (!source.fields.empty()) options.emplace_back(kFieldsOption, source.fields);
  if (request.fields.is_lossy) options.emplace_back(kLossyOption, "yes");
  ParsingWords parsing = parsing_words(request.container.parsing);
  if (parsing.empty()) parsing = source.parsing;
  for (auto& word : parsing) options.push_back(std::move(word));
  if (!request.axes.empty()) options.emplace_back(kAxisOption, axes_text(request.axes));
  if (request.raw.is_given()) options.emplace_back(kRawOption, request.raw.words);
  if (const std::string fields = image_fields_text(source.image_fields); !fields.empty())
    options.emplace_back(kImageFieldsOption, fields);
  if (!request.layout.empty()) options.emplace_back(kLayoutOption, request.layout);
  if (request.row_group_bytes > 0)
    options.emplace_back(kRowGroupOption, std::to_string(request.row_group_bytes));
  options.emplace_back("on_error", name_of(request.on_error));
  options.emplace_back(kLabelsOption, source.labels.hex());
  if (!request.labels.pattern.empty())
    options.emplace_back(kLabelFromOption, printable(request.labels.pattern));
  return options;
}

std::uint64_t row_group_bytes_of(const Manifest& manifest) {
  const std::string recorded = option_of(manifest, kRowGroupOption);
  return recorded.empty() ? 0 : parse_count(recorded, kRowGroupOption);
}

Identity identity_of(const Manifest& manifest) {
  Identity identity;
  if (!manifest.runs.empty()) identity.emplace_back(kRuns, std::to_string(manifest.runs.size()));
  identity.emplace_back("to", manifest.format);
  for (const auto& option : manifest.options) {
    if (option.first != kLabelsOption && option.first != kLabelFromOption)
      identity.push_back(option);
  }
  for (const ManifestTransform& transform : manifest.transform) {
    const std::string of_field = " of " + printable(transform.field);
    for (const auto& [name, value] : transform.parameters)
      identity.emplace_back(name + of_field, value);
    identity.emplace_back("filter" + of_field, transform.filter);
    identity.emplace_back(std::string(kCodecOf) + printable(transform.field), transform.codec);
  }
  identity.emplace_back("input kind", manifest.source.kind);
  identity.emplace_back("input samples", std::to_string(manifest.source.samples));
  identity.emplace_back("input bytes", std::to_string(manifest.source.bytes));
  identity.emplace_back("input fingerprint", manifest.source.fingerprint.hex());
  if (manifest.source.kind == kProgramKind) {
    // A program has no fields but those that it says.
    identity.emplace_back("fields", fields_text(manifest.schema));
    identity.emplace_back("keys", manifest.schema.has_keys ? "names" : "numbers");
  }
  identity.emplace_back("class table", hash_of_classes(manifest.classes).hex());
  // Last: of all that differs with the input, two hashes tell a reader least.
  for (const auto& option : manifest.options) {
    if (option.first == kLabelsOption) identity.push_back(option);
  }
  if (manifest.part) {
    identity.emplace_back(kPartMember,
                          fmt::format("{} of {}", manifest.part->index, manifest.part->count));
  }
  return identity;
}

// Names and values hold no tab, equals sign or line end: they are made above.
std::string identity_line(const Identity& identity) {
  std::string line;
  for (const auto& [name, value] : identity) {
    if (!line.empty()) line += '\t';
    line.append(name).append(1, '=').append(value);
  }
  return line;
}

Identity identity_from_line(std::string_view line) {
  Identity identity;
  while (!line.empty()) {
    const std::string_view entry = line.substr(0, line.find('\t'));
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) {
      identity.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    line.remove_prefix(std::min(entry.size() + 1, line.size()));
  }
  return identity;
}

std::optional<std::string> first_difference(const Identity& was, const Identity& is) {
  const auto difference = [](std::string_view before, std::string_view now) {
    return fmt::format("{} before, {} now", before, now);
  };
  if (has_entry(was, kChosenSamples) != has_entry(is, kChosenSamples))
    return has_entry(was, kChosenSamples) ? difference("some of the samples", "all")
                                          : difference("all samples", "some");
  if (has_entry(was, kAppendedTo) != has_entry(is, kAppendedTo))
    return has_entry(was, kAppendedTo) ? difference("an append", "a conversion")
                                       : difference("a conversion", "an append");
  if (!was.empty() && was.front().first == kMergeMember)
    return difference("a merge of parts", "a conversion");
  if (!was.empty() && was.front().first == kRuns)
    return fmt::format("appended to, {} runs in all, before, one run now", was.front().second);
  const auto is_part = [](const Identity& identity) {
    return !identity.empty() && identity.back().first == kPartMember;
  };
  if (is_part(was) != is_part(is))
    return difference(is_part(was) ? "part " + was.back().second : "all of it",
                      is_part(is) ? "part " + is.back().second : "all");
  for (const auto& [name, with, without] : kOfTheInput) {
    if (has_entry(was, name) == has_entry(is, name)) continue;
    return has_entry(was, name) ? difference(with, without) : difference(without, with);
  }
  if (const std::string before = worked_on(was), now = worked_on(is); before != now)
    return difference(before, now);
  // What image work records only where it is not as it was in earlier versions.
  const auto is_only_in = [](const Identity& one, std::size_t i, const Identity& other) {
    return i < one.size() && one[i].first.find(" of ") != std::string::npos &&
           !has_entry(other, one[i].first);
  };
  for (std::size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
    if (is_only_in(was, i, is)) return was[i].first + ": " + difference(was[i].second, "unset");
    if (is_only_in(is, i, was)) return is[i].first + ": " + difference("unset", is[i].second);
    if (i >= was.size() || i >= is.size() || was[i].first != is[i].first) {
      return "it was made by another version of shale";
    }
    if (was[i].second != is[i].second) {
      // Two hashes say no more than that they differ.
      if (Hash128::from_hex(was[i].second) && Hash128::from_hex(is[i].second))
        return fmt::format("not the same {}", was[i].first);
      return was[i].first + ": " + difference(printable(was[i].second), printable(is[i].second));
    }
  }
  return std::nullopt;
}

}  // namespace shale
