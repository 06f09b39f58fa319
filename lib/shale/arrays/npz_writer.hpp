#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shale/io/output_file.hpp"

namespace shale {

/// A file that becomes a member of an archive.
struct NpzMember {
  std::string name;  ///< "x.npy"
  std::string path;
};

/// Writes files into a zip archive, one after the other, as np.savez does (stored) or
/// np.savez_compressed (deflated): zip64 where a member or the archive has 4 GiB or more; times are
/// 1980-01-01, so the same members give the same bytes. Each file is removed when it is in. Memory:
/// 1.5 MiB. `stop_if_asked` is called for each MiB. Errors: Code::io; those of `stop_if_asked`.
void write_npz(OutputFile& archive, const std::vector<NpzMember>& members, bool is_deflated,
               const std::function<void()>& stop_if_asked);

}  // namespace shale
