#include "formats/hdf5/foreign/hdf5_foreign.hpp"

#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/trees/hdf5_contents.hpp"
#include "shale/trees/hdf5_foreign_scan.hpp"
#include "shale/trees/hdf5_in_place.hpp"
#include "shale/trees/hdf5_samples.hpp"
#include "shale/trees/hdf5_steps.hpp"

#include "formats/hdf5/foreign/hdf5_probe.hpp"

namespace shale {

Survey survey_hdf5_file(const InputFile& file, const Parsing& parsing,
                        const WalkProgress& progress) {
  const std::optional<Dialect> dialect = parsing.dialect;
  Hdf5Description description = probe_hdf5_file(file, progress);
  if (may_have_hdf5_steps(dialect) && has_hdf5_steps(description))
    return survey_hdf5_steps(std::move(description), file);
  if (dialect == Dialect::robomimic) {
    throw Error(Code::unsupported, "not of layout {}: it has no groups 'data/demo_N' of datasets",
                name_of(*dialect))
        .at(file.path())
        .hint("leave out --parse");
  }
  if (const auto place = hdf5_samples_in(description, dialect)) {
    if (dialect == Dialect::episodes || place->is_file)
      throw is_read_by_convert(*place, file.path());
    try {
      return survey_hdf5_samples(file, *place, dialect.has_value(), progress);
    } catch (const Error& error) {
      if (!is_about_bytes(error) && error.code() != Code::unsupported) throw;
      throw is_read_by_convert(*place, file.path());  // the library may know more
    }
  }
  return survey_hdf5_columns(std::move(description), file, progress);
}

void scan_foreign_hdf5(const ShardInput& input, const RowSink& rows, const FindingSink& findings) {
  if (input.files.size() != 1)
    throw Error(Code::bug, "an HDF5 file of another tool is {} files", input.files.size());
  if (input.layout.dialect == Dialect::samples) {
    const auto find = [&] {
      const auto place =
          hdf5_samples_in(probe_hdf5_file(input.files[0], input.progress), Dialect::samples);
      return *place;
    };
    return scan_hdf5_samples(input, find, rows, findings);
  }
  const auto describe = [&] { return probe_hdf5_file(input.files[0], input.progress); };
  scan_described_hdf5(input, describe, rows, findings);
}

FileContents list_hdf5_contents(const InputFile& file, const WalkProgress& progress) {
  FileContents contents = hdf5_contents_of(probe_hdf5_file(file, progress), file);
  contents.format = "hdf5";
  return contents;
}

}  // namespace shale
