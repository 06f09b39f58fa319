#pragma once

#include <optional>
#include <string>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/shards/place.hpp"

// What a file is, by its content, and what it holds.

namespace shale {

/// The file that a path stands for: itself, or data.mdb in the directory of an LMDB. nullopt for
/// anything else.
[[nodiscard]] std::optional<std::string> file_of_path(const std::string& path);

/// The format of a file, by its content, or else the one that the dialect asked for is of; null if
/// it is of none.
[[nodiscard]] const Format* detect_file(const InputFile& file, const Parsing& parsing = {});
/// True for an archive whose index is there: it is one of samples, whatever its content says.
[[nodiscard]] bool is_indexed_archive(const std::string& path, const std::string& index_folder);
/// A tar archive that holds samples, as its content or its index says, and not the files of a
/// folder. Errors: same as InputFile.
[[nodiscard]] bool is_archive_of_samples(const std::string& path);
[[nodiscard]] Error empty_file(const std::string& path);
/// The error for a file that is called a tar archive, and does not begin like one.
[[nodiscard]] Error no_archive(const std::string& path);
/// The error for a file of a kind that is known, but not read, with the way round: archives of
/// other programs, MATLAB 5. Nullopt for any other. Errors: Code::io.
[[nodiscard]] std::optional<Error> known_but_not_read(const std::string& path);
/// Throws that of the first such file in the folder, by name, of the first thousand entries; images
/// are none.
void refuse_known_files(const std::string& folder);
/// What the user of an unknown file is told that may be numbers without a header; empty for text.
/// Errors: Code::io.
[[nodiscard]] std::string hint_for_numbers(const std::string& path);
/// The error for a path that is nothing that shale can read.
[[nodiscard]] Error unrecognized(const std::string& path);
/// The error for a path at which there is no dataset, and no file with samples.
[[nodiscard]] Error not_a_dataset(const std::string& path, Place place);
/// As detect_file, if the format reads files of other tools. Errors: Code::unsupported if none
/// reads such files.
[[nodiscard]] const Format& format_of_file(const InputFile& file, const Parsing& parsing = {});

/// Whether the format reads files so.
[[nodiscard]] bool takes_parsing(const Format& format, const Parsing& parsing);

/// How a file is surveyed.
struct SurveyUse {
  bool takes_damaged = false;  ///< as Format::salvage, where there is one
  bool takes_packed = false;   ///< as PackedSurvey has it, where there is Format::survey_packed
  std::uint64_t memory_bytes = kMostUnpacked;
};

/// What a file holds. No dialect, or own: as shale wrote it, if it did, else plain. Errors:
/// same as Format::recognize and Format::survey.
[[nodiscard]] Survey survey_file(const Format& format, const InputFile& file,
                                 const Parsing& parsing, const WalkProgress& progress,
                                 const SurveyUse& use = {});

}  // namespace shale
