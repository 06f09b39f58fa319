#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/data/image_report.hpp"
#include "shale/data/left_out.hpp"
#include "shale/data/schema.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// How much of an input is read.
enum class CheckDepth {
  survey,   ///< names and sizes of all samples, the images of a few
  content,  ///< all samples, as a conversion reads and checks them
  pixels,   ///< and their images are decoded
};

/// A file in the folder, or beside it, that seems to say what the samples are.
struct SeenLabels {
  std::string file;
  std::string command = {};   ///< that converts the folder with it; empty: no such command works
  std::uint64_t samples = 0;  ///< that it has labels for
  std::string reason = {};    ///< why there is no command
};

/// An input that is not a dataset, such as a folder of images, before it is converted.
struct InputCheck {
  std::string kind;  ///< as a manifest names it: "image folder"
  Schema schema;
  std::vector<std::string> classes;  ///< by label; empty: there are none
  std::vector<std::uint64_t> class_samples;
  std::uint64_t samples = 0, bytes = 0;  ///< of the first field and what belongs to it
  NamedCounts suffixes;                  ///< of keys that are paths, in lower case: ".jpg" -> 1200
  std::uint64_t looked_at = 0;           ///< samples that were read
  std::uint64_t bad = 0;                 ///< of them: such that a conversion leaves out
  NamedCounts faults;                    ///< why, by the codes of skipped.csv
  std::uint64_t undecoded = 0;           ///< images of types that are not decoded
  ImageReport images;                    ///< of those that were looked at
  std::uint64_t ignored = 0;             ///< entries that are not samples
  NamedCounts ignored_by;                ///< why
  std::map<std::string, std::string> first_ignored;  ///< of each reason the first entry
  LeftOutList left_out;
  std::vector<SeenLabels> labels;  ///< only of CheckDepth::survey, and without --labels
  std::vector<std::string> notes;
  std::optional<Error> refusal;  ///< what a conversion would say instead of converting it
};

/// Walks an input as a conversion does, and reads what `depth` says, with all jobs of the request.
/// Bad samples do not end the work, nor do classes without samples: each is a finding, in the order
/// of the input. `sink` may be null. Memory: that of the request. Errors: same as open_input and
/// encode_all.
[[nodiscard]] InputCheck check_input(const InputRequest& request, CheckDepth depth,
                                     const FindingSink& sink, const Events& events);

}  // namespace shale
