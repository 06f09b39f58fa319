#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shale/archives/stream_path.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// A tar archive of samples that was a stream: it is read in place for as long as this lives.
struct KeptSamples {
  std::shared_ptr<const NamelessFile> file;
  std::string stream;  ///< "-", or the path of a FIFO
};

/// Where the only input of the request is stdin or a FIFO, and its first 24 MiB are those of a tar
/// archive of samples, also a compressed one: keeps all of it, decompressed, in a file without a
/// name in the temporary folder, and makes that the input. Nullopt: the input is something else,
/// and what was opened to look at it is held in `stdin_copy`. `events` must outlive that. Errors:
/// same as InputStream and open_stream; Code::io.
[[nodiscard]] std::optional<KeptSamples> keep_samples(InputRequest& request, const Events& events);

/// What tar archives are read as that the dataset, or the one that it is a copy of, may have been
/// made of.
[[nodiscard]] TarsAs tars_of_source(const Manifest& manifest);
/// Tar archives that are read as samples where nothing is known of what they are for.
[[nodiscard]] bool is_input_of_samples(const std::string& path);
/// Whether a path is a compressed tar archive of samples, or stands for several (files_of_set): so
/// far as the first of them tells.
[[nodiscard]] bool are_compressed_samples(const std::string& path);

}  // namespace shale
