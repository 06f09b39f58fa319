#include "shale/format/format.hpp"

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/lmdb/lmdb_format.hpp"
#include "formats/npy/npy_format.hpp"
#include "formats/pt/pt_format.hpp"
#include "formats/record/record_format.hpp"
#include "formats/safetensors/safetensors_format.hpp"

// The whole registry: one line per format.

namespace shale {
namespace {

const Format* const kFormats[] = {
    &lmdb_format, &hdf5_format, &record_format, &npy_format, &pt_format, &safetensors_format,
};

}  // namespace

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
