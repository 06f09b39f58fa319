#pragma once

#include <memory>
#include <string_view>

#include "shale/archives/stream_path.hpp"
#include "shale/folders/folder_source.hpp"

namespace shale {

/// A tar archive as samples in its own order, while it comes in: from stdin, from a FIFO, from a
/// file that is compressed. Schema, keys, labels and what is ignored are those of open_folder for
/// the folder that it would be unpacked into. Classes are known beforehand, from
/// request.classes.from, or class folders have numbers for names. request.root: the stream's name.
/// Errors: Code::damaged and Code::unsupported, by name, as of StreamMembers; Code::bad_content, by
/// name, as of open_folder; Code::unsupported for links, which nothing can follow here; Code::limit
/// for a file that memory has no room for; Code::mismatch, of skip(), for a stream that ends
/// before.
[[nodiscard]] std::unique_ptr<Source> open_tar_stream(const StreamPath& path, OpenedStream stream,
                                                      const FolderRequest& request);

/// Errors: Code::usage, naming `option` ("--shuffle"), if the source is a stream.
void refuse_for_stream(const Source& source, std::string_view input, std::string_view option);
/// The same for one that cannot be opened again: stdin, a FIFO.
void refuse_for_pipe(const Source& source, const std::string& input, std::string_view option);
[[nodiscard]] Error not_for_stream(std::string_view input, std::string_view option);

}  // namespace shale
