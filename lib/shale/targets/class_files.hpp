#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/shards/place.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/convert_request.hpp"
#include "shale/targets/resumption.hpp"

// --layout lsun: OUT/<class>_<split>_lmdb/data.mdb, a directory per class. In the work folder each
// class is a shard, so a run continues where it was stopped, like any other; when all of them are
// whole, they come to their names one by one. There is no manifest.
//   OUT/.shale/new/moves   the directories, shard by shard: from now on the files move

namespace shale {

/// True for a conversion whose output has a directory per class.
[[nodiscard]] bool is_by_class(const ConvertRequest& request);

/// A shard per class, of any size.
[[nodiscard]] ShardSetWriter::Options division_by_class(const Schema& schema);

/// The samples in the order of their classes; of a folder by the listing in the work folder.
/// Errors: same as open_input and make_class_ordered_source.
[[nodiscard]] std::unique_ptr<Source> open_by_class(const ConvertRequest& request,
                                                    const Schema& schema, const WorkFolder& work,
                                                    const Events& events);

/// Before anything is listed. Errors: Code::usage for options of other samples than images;
/// Code::exists for an output that is a file or a dataset, or,
/// without request.overwrite, not empty.
void refuse_taken_by_class(const ConvertRequest& request, Place place);

/// Errors: Code::unsupported for an input without classes, or with another field than an image and
/// a label; Code::bad_content for classes that no directory can have the name of, or two the same;
/// Code::exists for a directory that stands, unless it is to be overwritten and holds nothing but
/// LMDB's two files.
void refuse_unfit_classes(const ConvertRequest& request, const SourceInfo& source);

/// Moves what a killed run was moving. False if there was none. Errors: as finish_by_class.
[[nodiscard]] bool finish_moves(const ConvertRequest& request, const WorkFolder& work);

/// All shards are whole: gives each class its name, and removes the work folder. A class that lost
/// all of its samples has no directory. Errors: Code::exists for a name that was taken in the
/// meantime; Code::io.
void finish_by_class(const ConvertRequest& request, WorkFolder& work, ConvertReport& report);

/// Of --dry-run: the plan of files instead of shards.
void plan_by_class(ConvertReport& plan);

/// What a run of this command, which was killed while it moved its classes, would have said.
[[nodiscard]] ConvertReport report_by_class(const ConvertRequest& request, const WorkFolder& work,
                                            Manifest manifest);

}  // namespace shale
