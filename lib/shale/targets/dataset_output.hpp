#pragma once

#include <cstdint>
#include <string>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/common_keys.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/work_folder.hpp"

// What the commands share that write a directory of shards.

namespace shale {

/// Errors: Code::exists for what is neither a dataset nor free.
void refuse_strange_output(const std::string& output, Place place);

/// Errors: Code::exists for files of somebody else under the names of shards.
void refuse_taken_names(const std::string& output, const Format& format, const Schema& schema);

/// Verifies what is finished at `path`, for --verify: the findings are in the report.
void verify_output(const ConvertRequest& request, const std::string& path, ConvertReport& report,
                   const Events& events);

/// Options of shards, which did not shape what is one file.
void drop_shard_options(Manifest& manifest);

/// Looks at all that the finished set in a directory needs, by name and size; returns its manifest.
/// Errors: Code::damaged naming the file; same as read_manifest.
Manifest refuse_incomplete(const std::string& output, bool may_overwrite = false);

/// Adds what one manifest counts to another, of samples that come before its own: samples, bytes,
/// shards, what was left out, images (but for duplicates, which are of all of them).
void append_totals(Manifest& sum, const Manifest& more);

/// The same of outputs, each of samples of its own: one of nothing becomes the other.
void append_output(ConvertOutput& all, const ConvertOutput& one);

/// Writes the manifest into work.path(), last.
void write_set_manifest(const Manifest& manifest, const WorkFolder& work,
                        const ForEachShard& for_each_shard);

/// The same for the shards in the journal of the work folder.
void write_set_manifest(const Manifest& manifest, const WorkFolder& work);

}  // namespace shale
