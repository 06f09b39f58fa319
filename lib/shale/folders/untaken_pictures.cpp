#include "shale/folders/untaken_pictures.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/image/heif.hpp"
#include "shale/image/probe.hpp"
#include "shale/io/input_file.hpp"

namespace shale {
namespace {

using std::literals::string_view_literals::operator""sv;

struct Signature {
  std::size_t offset;
  std::string_view bytes, type;
};
constexpr Signature kSignatures[] = {
    {0, "\xff\xd8\xff"sv, "jpeg"},  {0, "\x89PNG\r\n\x1a\n"sv, "png"},
    {0, "GIF8"sv, "gif"},           {0, "II*\0"sv, "tiff"},
    {0, "MM\0*"sv, "tiff"},         {8, "WEBPVP8"sv, "webp"},
    {0, "8BPS"sv, "psd"},           {0, "v/1\x01"sv, "exr"},
    {0, "\xff\x0a"sv, "jxl"},       {4, "JXL \r\n\x87\n"sv, "jxl"},
    {4, "jP  \r\n\x87\n"sv, "jp2"}, {0, "\xff\x4f\xff\x51"sv, "jp2"},
    {4, "ftypavif"sv, "avif"},      {4, "ftypavis"sv, "avif"},
    {4, "ftyphei"sv, "heic"},       {4, "ftyphev"sv, "heic"},
    {4, "ftypmif1"sv, "heic"},      {4, "ftypmsf1"sv, "heic"},
};
constexpr std::string_view kSuffixes[] = {"heic", "heif", "avif", "jp2", "j2k",
                                          "jxl",  "gif",  "psd",  "exr", "dng"};
constexpr std::string_view kArchives[] = {"zip", "tar", "tgz", "gz", "zst",
                                          "xz",  "bz2", "7z",  "rar"};
// How the list of ignored entries begins what is missing in the samples, and then names it.
struct Missing {
  std::string_view words, kind, reason;
};
constexpr Missing kUntaken = {"a picture that is not taken: ", "picture", "type_not_taken"};
constexpr Missing kPartner = {"has the name of a sample, and is not taken: ", "partner",
                              "not_of_all_samples"};
constexpr Missing kLoose = {"beside the class folders: ", "file", "beside_the_classes"};
constexpr Missing kSpecial = {"not a regular file: ", "file", "not_a_regular_file"};
constexpr std::string_view kBeside = "beside the class folders";
constexpr std::uint64_t kMostOthers = 1000;

// Behind the last dot, in lower case.
std::string last_suffix(std::string_view name) {
  std::string suffix(name.substr(name.rfind('.') + 1));
  std::ranges::transform(suffix, suffix.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return suffix;
}

// Fewer if there are no more; none if it cannot be read.
std::size_t read_head_of(const std::string& path, const ArchivedFile& archived,
                         std::span<std::byte> head) try {
  return archived.archive ? read_beginning(archived, head) : InputFile(path).read_some(0, head);
} catch (const Error&) {
  return 0;
}

std::string reason_with(const Missing& missing, std::string_view name) {
  return std::string(missing.words) + last_suffix(name);
}

}  // namespace

std::string_view picture_type_of(Bytes head) {
  const std::string_view bytes = as_text(head);
  for (const Signature& one : kSignatures) {
    if (bytes.size() >= one.offset && bytes.substr(one.offset).starts_with(one.bytes))
      return one.type;
  }
  return {};
}

std::string UntakenPictures::reason_for(std::string_view name, std::string_view otherwise,
                                        const ReadHead& read_head) {
  const bool is_likely = std::ranges::find(kSuffixes, last_suffix(name)) != std::end(kSuffixes);
  if (!is_likely && ++looked_at_ > kMostOthers) return std::string(otherwise);
  std::array<std::byte, 16> head{};
  const std::string_view type = picture_type_of(std::span(head).first(read_head(head)));
  return std::string(type.empty() ? otherwise : kUntaken.words).append(type);
}

std::string UntakenPictures::reason_for(const std::string& path, std::string_view otherwise,
                                        const ArchivedFile& archived) {
  return reason_for(path, otherwise,
                    [&](std::span<std::byte> head) { return read_head_of(path, archived, head); });
}

bool begins_like_image(const std::string& path, const ArchivedFile& archived,
                       bool takes_decodable) {
  constexpr std::size_t kHeadBytes = 64;
  std::array<std::byte, kHeadBytes> head{};
  const std::size_t bytes = read_head_of(path, archived, head);
  const ImageType type = probe_image(Bytes(head).first(bytes), "").type;
  const bool is_only_decoded =
      type == ImageType::gif || type == ImageType::heic || type == ImageType::avif;
  return type != ImageType::unknown && (takes_decodable || !is_only_decoded);
}

std::string reason_of_partner(std::string_view suffix) {
  return reason_with(kPartner, suffix);  // of "0001.txt" what others have, too
}

std::string reason_of_loose(std::string_view name) { return reason_with(kLoose, name); }
std::string reason_of_special(std::string_view name) { return reason_with(kSpecial, name); }

bool LooseArchives::add(std::string_view name) {
  const std::string suffix = last_suffix(name);
  const bool is_archive = name.size() > suffix.size() && names_.size() < kMostOthers &&
                          std::ranges::find(kArchives, suffix) != std::end(kArchives);
  if (is_archive) names_.emplace_back(name);
  return is_archive;
}

void LooseArchives::settle(
    const std::vector<std::string>& classes, bool is_inside,
    const std::function<void(std::string_view name, std::string_view reason)>& ignore,
    std::vector<std::string>& notes) const {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> missing;
  for (const std::string& name : names_) {
    const bool is_there = std::ranges::count(classes, name.substr(0, name.find('.'))) > 0;
    if (!is_there) missing.push_back(printable(name));
    ignore(name, is_inside && !is_there ? reason_of_loose(name) : std::string(kBeside));
  }
  if (missing.empty()) return;
  const std::size_t count = missing.size();
  std::ranges::sort(missing);
  missing.resize(std::min(count, kShown));
  notes.push_back(
      fmt::format("{} beside the class folders {} not read ({}{}): unpack what holds classes",
                  format_counted(count, "archive", "archives"), count == 1 ? "is" : "are",
                  fmt::join(missing, ", "), count > kShown ? ", ..." : ""));
}

std::vector<std::string> notes_on_untaken(const LeftOutList& left_out) {
  std::vector<std::string> types;
  for (const LeftOut& one : left_out.entries) {
    const bool is_decodable = one.name == "gif" || one.name == "heic" || one.name == "avif";
    if (one.kind == kUntaken.kind && is_decodable) types.push_back(one.name);
  }
  if (types.empty()) return {};
  std::ranges::sort(types);
  const bool lacks_library = types != std::vector<std::string>{"gif"} && !has_libheif();
  std::string text(types.front());
  for (std::size_t i = 1; i < types.size(); ++i)
    text.append(i + 1 < types.size() ? ", " : " and ").append(types[i]);
  return {fmt::format("{} pictures are left out; {}--encode jpeg or png takes them", text,
                      lacks_library ? "with libheif installed (libheif1), " : "")};
}

bool is_untaken(std::string_view reason) {
  LeftOutList left_out;
  add_untaken(left_out, reason);
  return left_out.count() > 0;
}

void add_untaken(LeftOutList& left_out, std::string_view reason) {
  for (const Missing& one : {kUntaken, kPartner, kLoose, kSpecial}) {
    if (!reason.starts_with(one.words)) continue;
    left_out.add({.kind = std::string(one.kind),
                  .name = std::string(reason.substr(one.words.size())),
                  .reason = std::string(one.reason),
                  .samples = 1});
  }
}

}  // namespace shale
