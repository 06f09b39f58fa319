#include "formats/hdf5/hdf5_steps_scan.hpp"

#include <deque>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/hdf5/hdf5_foreign_columns.hpp"
#include "formats/hdf5/hdf5_payload.hpp"
#include "formats/hdf5/hdf5_probe.hpp"
#include "formats/hdf5/hdf5_rows.hpp"

namespace shale {
namespace {

class StepScanner {
 public:
  StepScanner(const ShardInput& input, const RowSink& rows, const FindingSink& findings)
      : input_(input),
        file_(input.files[0]),
        rows_(rows),
        draft_(file_, findings),
        pace_(input.progress, file_.size()),
        payload_(file_, pace_) {}

  void scan() {
    Hdf5Steps steps;
    try {
      Hdf5Description description = probe_hdf5_file(file_, input_.progress);
      if (!has_hdf5_steps(description)) return report_other_fields({});
      steps = find_hdf5_steps(std::move(description), file_);
      check_steps_lie_in_place(steps, file_);
    } catch (const Error& error) {
      if (!is_in_hdf5_bytes(error)) throw;
      return draft_.report(error, {});
    }
    if (steps.schema.fields != input_.schema.fields) return report_other_fields(steps.schema);
    for (const Hdf5Steps::Demo& demo : steps.demos) scan_demo(demo, steps.rows);
  }

 private:
  void scan_demo(const Hdf5Steps::Demo& demo, std::uint64_t all_rows) {
    std::deque<Hdf5Rows> columns;
    for (const Hdf5Dataset* dataset : demo.datasets) {
      if (dataset != nullptr) columns.emplace_back(*dataset, file_);
    }
    for (std::uint64_t step = 0; step < demo.rows; ++step) {
      pace_.step_to_row(demo.first + step, all_rows);
      draft_.at_row(demo.first + step);
      IndexRow row;
      row.cells.resize(demo.datasets.size());
      auto column = columns.begin();
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const Field& field = input_.schema.fields[i];
        if (demo.datasets[i] == nullptr) {
          row.cells[i].integer =
              field.name == kDemoField ? demo.number : static_cast<std::int64_t>(step);
          continue;
        }
        try {
          row.cells[i] = cell_of(*column++, step, field);
        } catch (const Error& error) {
          if (!is_in_hdf5_bytes(error)) throw;
          draft_.report(error, field.name);
        }
      }
      rows_(row);
    }
  }

  IndexCell cell_of(Hdf5Rows& column, std::uint64_t step, const Field& field) {
    if (!is_located(field.kind)) return column.number(step, field);
    IndexCell cell;
    if (column.row_bytes() == 0) {
      cell.place.offset = 0;  // stored nowhere, and yet not missing
    } else if (const std::optional<std::uint64_t> offset = column.locate(step)) {
      cell.place = {.offset = *offset, .length = column.row_bytes()};
      if (input_.reads_payload) cell.place.crc32c = payload_.crc_of(cell.place);
    }
    return cell;
  }

  void report_other_fields(const Schema& found) {
    const auto names_of = [](const Schema& schema) {
      std::string text;
      for (const Field& field : schema.fields)
        text += (text.empty() ? "" : ", ") + printable(field_text(field));
      return text;
    };
    draft_.begin("the datasets of this file are not those that were indexed");
    draft_.send(names_of(found), names_of(input_.schema));
  }

  const ShardInput& input_;
  const InputFile& file_;
  const RowSink& rows_;
  FindingDraft draft_;
  WalkPace pace_;
  Hdf5Payload payload_;
};

}  // namespace

Survey survey_hdf5_steps(const Hdf5Steps& steps, const InputFile& file) {
  check_steps_lie_in_place(steps, file);
  Survey survey = Survey::of_one_file(steps.schema, Dialect::robomimic);
  survey.layout.has_keys = false;
  survey.notes = steps.notes;
  return survey;
}

void scan_hdf5_steps(const ShardInput& input, const RowSink& rows, const FindingSink& findings) {
  StepScanner(input, rows, findings).scan();
}

}  // namespace shale
