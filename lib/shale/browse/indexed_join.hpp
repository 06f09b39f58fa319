#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/datasets/opened_dataset.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// True for inputs with names, of which there are two or more: "x=a.h5", "y=b.h5"; and for bare
/// files that joined_by_fields() names.
[[nodiscard]] bool are_inputs_with_names(const std::vector<std::string>& words);

/// True for files of arrays that no format reads in place, and all else reads as it does joins.
/// Errors: Code::io.
[[nodiscard]] bool are_arrays_alone(const std::vector<std::string>& words);

/// How messages name them: "x=a.h5 y=b.h5".
[[nodiscard]] std::string text_of_inputs(const std::vector<std::string>& words);

/// How a command is told them: "--on key x=a.h5 y=b.h5", as words of a shell.
[[nodiscard]] std::string command_words_of(const InputRequest& request);

/// Inputs with names as one dataset that is read at random, without converting them: their samples
/// are joined as a conversion joins them, once, for an index in files without names, which says
/// where each value lies. A shard ends where a field goes on in another file. Values that do not
/// lie in the files as they are read (files of folders, compressed or big-endian arrays) are copied
/// to a file without a name. Memory: as the source of the join, and the largest of these values.
/// Errors: same as open_input; Code::limit, by field, for more than 256 MiB of copies, and for more
/// than 65,536 shards; Code::unsupported for lists of files.
[[nodiscard]] OpenedDataset open_joined_inputs(const InputRequest& request, const Events& events);

/// True for a folder, or one in an archive, also in a compressed file, whose files a conversion
/// lists: it is not a dataset, and not a set of files of other tools. Errors: same as look_at.
[[nodiscard]] bool is_listed_input(const std::string& path);

/// Which samples have values that can be read.
struct ListedValues {
  /// Null: all. Of the others only keys, numbers and sizes are known.
  std::function<bool(const std::string& key, std::uint64_t row)> takes = {};
  /// If the samples have more bytes, only some of them are listed, evenly spread. 0: all are.
  std::uint64_t most_bytes = 0;
};

/// Such an input as a dataset that is read at random, without converting it: its values are copied
/// to a file without a name. Samples that a conversion leaves out, because a file is missing, are
/// not in it. Memory: as the source, and the largest sample. Errors: same as open_input;
/// Code::unsupported for streams.
[[nodiscard]] OpenedDataset open_listed_input(const InputRequest& request,
                                              const ListedValues& values, const Events& events);

}  // namespace shale
