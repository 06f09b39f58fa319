#pragma once

#include "shale/format/format.hpp"

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/lmdb/lmdb_format.hpp"
#include "formats/npy/npy_format.hpp"
#include "formats/parquet/parquet_format.hpp"
#include "formats/pt/pt_format.hpp"
#include "formats/record/record_format.hpp"
#include "formats/safetensors/safetensors_format.hpp"
#include "formats/webdataset/webdataset_format.hpp"

namespace shale {

/// The formats, in the order in which they are listed.
inline constexpr const Format* kFormats[] = {
    &lmdb_format,    &hdf5_format, &record_format, &webdataset_format,
    &parquet_format, &npy_format,  &pt_format,     &safetensors_format,
};

}  // namespace shale
