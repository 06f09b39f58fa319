#include "shale/format/format.hpp"

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/lmdb/lmdb_format.hpp"
#include "formats/npy/npy_format.hpp"
#include "formats/pt/pt_format.hpp"
#include "formats/record/record_format.hpp"
#include "formats/safetensors/safetensors_format.hpp"
#include "tests/support/toy_format.hpp"

// The registry of the contract suite: a format joins by one line here.

namespace shale {
namespace {

const Format* const kFormats[] = {
    &lmdb_format, &hdf5_format,        &record_format,    &npy_format,
    &pt_format,   &safetensors_format, &test::toy_format,
};

}  // namespace

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
