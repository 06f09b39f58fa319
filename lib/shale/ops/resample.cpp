#include "shale/ops/resample.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include <sys/stat.h>

#include "shale/arrays/array_columns.hpp"
#include "shale/arrays/array_file.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/format/format.hpp"
#include "shale/format/tensor_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/ops/convert.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/sampling/make_draw.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/sources/drawn_source.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/file_output.hpp"
#include "shale/targets/identity.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/targets/target.hpp"

namespace shale {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNumbersAtOnce = 64 << 10;
constexpr std::string_view kNumberType = "<i8";
constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 62;

// An array of the command: where its rows come from, where they go.
struct DrawnArray {
  RowTable table;
  ResampledArray array;
  std::uint64_t dealing_bytes = 0;  // of scratch, beside the table's own
};

Field number_field() {
  Field field;
  field.name = "indices";
  field.kind = Kind::tensor;
  field.dtype = DType::parse(kNumberType);
  return field;
}

TensorFrame frame_of(const ResampledArray& array) {
  return format_of_output(array.path)->tensors->frame(std::span(&array.field, 1), array.rows);
}

// What is written, by file system: what stays, and the most that is there at any moment.
class SpaceNeeds {
 public:
  void keep(const std::string& folder, std::uint64_t bytes) {
    if (Disk* const disk = disk_of(folder)) disk->most = std::max(disk->most, disk->kept += bytes);
  }
  /// Gone again before anything else is added.
  void use(const std::string& folder, std::uint64_t bytes) {
    if (Disk* const disk = disk_of(folder)) disk->most = std::max(disk->most, disk->kept + bytes);
  }
  void require() const {
    for (const auto& [device, disk] : disks_) require_free_space(disk.folder, disk.most);
  }

 private:
  struct Disk {
    std::string folder;
    std::uint64_t kept = 0, most = 0;
  };
  Disk* disk_of(const std::string& folder) {
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return nullptr;  // the first write will tell
    return &disks_.try_emplace(facts.st_dev, Disk{.folder = folder}).first->second;
  }
  std::map<dev_t, Disk> disks_;
};

// A run under way.
class Resampling {
 public:
  Resampling(const ResampleRequest& request, PlanFor purpose, const Events& events)
      : request_(request),
        conversion_(request.conversion),
        purpose_(purpose),
        events_(events),
        run_folder_(conversion_.scratch_folder.empty() ? folder_of_file(conversion_.output)
                                                       : conversion_.scratch_folder),
        scratch_folder_(purpose == PlanFor::telling ? temporary_folder() : run_folder_) {}

  ResamplePlan plan() {
    ResamplePlan plan;
    prepare(plan);
    if (!is_array_) {
      plan_fields(plan);
      shard_table_.reset();  // the conversion opens its own
      plan.dataset = shale::plan(conversion_, events_);
    }
    for (const std::string& note : plan.notes) events_.say(note);
    refuse_unwritable();
    require_space();
    name_arrays(plan);
    return plan;
  }

  ResampleReport run() {
    ResampleReport report;
    prepare(report);
    shard_table_.reset();
    // A dataset that replaces another comes last but one: with the arrays that go with it.
    const bool is_late = conversion_.overwrite;
    if (!is_array_) all_steps_ += draw_->rows();
    if (!is_array_ && !is_late) report.dataset = write_dataset();
    for (const std::string& note : report.notes) events_.say(note);
    const TemporaryOutputs arrays = write_arrays();
    if (!is_array_ && is_late) report.dataset = write_dataset();
    if (!arrays.empty()) publish_together(arrays);
    name_arrays(report);
    return report;
  }

 private:
  [[nodiscard]] std::uint64_t draw_memory() const { return conversion_.memory_bytes / 8; }
  // --memory, divided: the write buffers, the draw's tables, and the rows that are put in order.
  [[nodiscard]] std::uint64_t row_memory() const {
    return conversion_.memory_bytes - ShardSetWriter::buffer_bytes(conversion_.memory_bytes) -
           draw_memory();
  }

  // Up to the first row.
  void prepare(ResampleOutput& output) {
    require_array_names(request_);
    std::vector<std::string> inputs = inputs_of(conversion_), outputs{conversion_.output};
    for (const auto& [input, output] : request_.also) {
      inputs.push_back(input);
      outputs.push_back(output);
    }
    if (!request_.indices_output.empty()) outputs.push_back(request_.indices_output);
    refuse_nested(outputs, inputs);
    std::erase_if(outputs, [](const std::string& output) { return !may_be_one_array(output); });
    if (purpose_ == PlanFor::running) clear_left(outputs);
    for (const std::string& output : outputs) refuse_taken_output(output, conversion_.overwrite);
    std::error_code error;
    if (!conversion_.scratch_folder.empty() && !fs::is_directory(run_folder_, error))
      throw Error(Code::not_found, "no such folder for temporary files").at(run_folder_);
    open_targets();
    const std::uint64_t wanted = conversion_.order.draw->rows.value_or(*source_rows_);
    if (request_.is_permutation && wanted != *source_rows_) {
      throw Error(Code::usage, "--permute takes each of {} rows once, but --rows asks for {}",
                  *source_rows_, wanted)
          .hint("leave out one of them: --rows alone also draws without replacement");
    }
    refuse_impossible_sizes(wanted);
    // The file of the draw is read whole, before anything is written.
    draw_ =
        make_draw(*conversion_.order.draw, *source_rows_, draw_memory(), scratch_folder_, events_);
    output.source_rows = *source_rows_;
    output.rows = draw_->rows();
    for (DrawnArray& target : targets_) plan_array(target, output);
    head_ = journal_head();
    if (!request_.indices_output.empty()) numbers_.emplace(plan_numbers());
  }

  void name_arrays(ResampleOutput& output) {
    for (DrawnArray& target : targets_) output.arrays.push_back(std::move(target.array));
    if (numbers_) output.arrays.push_back(std::move(*numbers_));
  }

  // What a killed run of these outputs left.
  void clear_left(const std::vector<std::string>& outputs) const {
    if (finish_killed_run(outputs, conversion_.overwrite))
      events_.say("finished the outputs of a run that was killed at its end");
    for (const std::string& output : outputs) clear_left_output(output);
  }

  void open_targets() {
    RowTable table = open_row_table(conversion_, scratch_folder_, events_);
    is_array_ = is_array_name(conversion_.output) ||
                (is_tensor_name(conversion_.output) && table.info.schema.fields.size() == 1);
    if (is_array_) {
      add_target(conversion_, std::move(table), conversion_.output);
    } else {
      shard_table_.emplace(std::move(table));
      source_rows_ = shard_table_->info.manifest.samples;
      shard_row_bytes_ = shard_table_->info.row_bytes.value_or(0);
    }
    for (const auto& [input, output] : request_.also) {
      ConvertRequest of_array = conversion_;
      of_array.inputs = {input};
      const std::string path = path_in_word(input);
      if (may_be_one_array(path) && facts_behind(path) && is_array_file(InputFile(path)))
        of_array.raw = {};
      of_array.fields = {};
      add_target(of_array, open_row_table(of_array, scratch_folder_, events_), output);
    }
  }

  void add_target(const ConvertRequest& request, RowTable table, const std::string& output) {
    DrawnArray target{.table = std::move(table), .array = {}};
    const std::uint64_t rows = target.table.info.manifest.samples;
    if (!source_rows_) source_rows_ = rows;
    if (rows != *source_rows_) {
      throw Error(Code::schema, "has {} rows, but {} has {}", rows,
                  printable(conversion_.inputs.front()), *source_rows_)
          .at(request.inputs.front())
          .hint("pass arrays of equal length");
    }
    target.array.path = output;
    target.array.field = only_array_field(target.table.info, output, !request.fields.only.empty());
    if (is_tensor_name(output)) {
      const Format& format = *format_of_output(output);
      (void)format.layout(target.table.info.schema, OptionSet(format.options));  // has its dtype
    }
    targets_.push_back(std::move(target));
  }

  // With replacement any number of rows can be asked for, and the draw of such numbers takes long:
  // what cannot be written is refused before.
  void refuse_impossible_sizes(std::uint64_t rows) const {
    const DrawMode mode = conversion_.order.draw->mode;
    if (mode != DrawMode::replace && mode != DrawMode::weights) return;
    const auto require = [&](const std::string& output, std::uint64_t row_bytes) {
      if (row_bytes > 0 && rows > kMostFileBytes / row_bytes) {
        throw Error(Code::limit, "{} rows of {} bytes are too many for any file", rows, row_bytes)
            .at(output)
            .hint("ask for fewer with --rows");
      }
      require_free_space(folder_of_file(output), rows * row_bytes);
    };
    require(conversion_.output, shard_row_bytes_);
    for (const DrawnArray& target : targets_) require(target.array.path, target.table.row_bytes(0));
    if (!request_.indices_output.empty()) require(request_.indices_output, sizeof(std::uint64_t));
  }

  void plan_array(DrawnArray& target, ResampleOutput& report) {
    ResampledArray& array = target.array;
    const std::uint64_t row_bytes = target.table.row_bytes(0);
    array.rows = draw_->rows();
    array.plan =
        plan_drawn_rows(row_bytes, *source_rows_, array.rows, row_memory(), draw_->costs());
    target.dealing_bytes = array.plan.scratch_bytes;
    array.plan = with_source(array.plan, target.table.columns.front().scratch, *draw_);
    array.file_bytes = frame_of(array).file_bytes();
    all_steps_ += array.rows * array.plan.passes;
    report.notes.insert(report.notes.end(), target.table.info.notes.begin(),
                        target.table.info.notes.end());
  }

  void plan_fields(ResamplePlan& report) const {
    const std::vector<DrawPlan> plans =
        plan_drawn_source(*shard_table_, *draw_, array_memory(conversion_.memory_bytes));
    for (std::size_t i = 0; i < plans.size(); ++i)
      report.field_plans.emplace_back(shard_table_->info.schema.fields[i].name, plans[i]);
  }

  [[nodiscard]] ResampledArray plan_numbers() {
    ResampledArray numbers{.path = request_.indices_output,
                           .field = number_field(),
                           .rows = draw_->rows(),
                           .file_bytes = 0,
                           .plan = {}};
    numbers.plan.written_bytes = numbers.rows * sizeof(std::uint64_t);
    numbers.file_bytes = frame_of(numbers).file_bytes();
    all_steps_ += numbers.rows;
    return numbers;
  }

  ConvertReport write_dataset() {
    Events counted = events_;
    const std::uint64_t begin = done_steps_, begin_bytes = done_bytes_;
    counted.progress = [this, begin, begin_bytes](std::uint64_t done, std::uint64_t,
                                                  std::uint64_t bytes) {
      events_.report(begin + done, all_steps_, done_bytes_ = begin_bytes + bytes);
    };
    ConvertReport written = convert(conversion_, counted);
    done_steps_ = begin + draw_->rows();
    return written;
  }

  void refuse_unwritable() const {
    for (const DrawnArray& target : targets_)
      WorkFolder::refuse_unwritable(WorkFolder::BesideFile{target.array.path});
    if (numbers_) WorkFolder::refuse_unwritable(WorkFolder::BesideFile{numbers_->path});
  }

  void require_space() const {
    SpaceNeeds space;
    const auto keep = [&](const ResampledArray& array) {
      const std::string folder = folder_of_file(array.path);
      if (!facts_behind(folder)) throw no_folder_for(array.path, folder);
      // What a run that goes on has of it.
      const std::string left =
          join_path(join_path(WorkFolder::path_beside(array.path), WorkFolder::kNewName),
                    fs::path(array.path).filename().string());
      space.keep(folder, array.file_bytes - std::min(array.file_bytes, bytes_at(left)));
    };
    ScratchNeed sweep = draw_->sweep_scratch();  // of the first that is dealt
    for (const DrawnArray& target : targets_) {
      const ScratchNeed& source = target.table.columns.front().scratch;
      space.use(run_folder_, source.most);
      if (target.dealing_bytes > 0) {
        space.use(run_folder_, source.kept + sweep.most);
        space.keep(run_folder_, std::exchange(sweep, {}).kept);
      }
      keep(target.array);
      space.use(run_folder_, source.kept + target.dealing_bytes);
    }
    if (numbers_) keep(*numbers_);
    space.require();
  }

  [[nodiscard]] TemporaryOutputs write_arrays() {
    // All of them first: what a killed run left of them takes no more space.
    TemporaryOutputs written;
    const auto make = [&](const ResampledArray& array) {
      written.push_back(
          std::make_unique<TemporaryOutput>(array.path, conversion_.overwrite, head_));
    };
    for (const DrawnArray& target : targets_) make(target.array);
    if (numbers_) make(*numbers_);
    require_space();
    try {
      for (std::size_t i = 0; i < targets_.size(); ++i) write_rows(targets_[i], *written[i]);
      if (numbers_) write_numbers(*numbers_, *written.back());
    } catch (const Error& error) {
      // What is there is continued by the same command; an input that is wrong leaves nothing.
      if (error.code() == Code::interrupted || error.code() == Code::io) {
        for (const auto& output : written) {
          if (output->work().holds_lines()) output->keep();
        }
      }
      throw;
    }
    return written;
  }

  // How an earlier run of this command is known.
  [[nodiscard]] std::string journal_head() const {
    const DrawRequest& draw = *conversion_.order.draw;
    Identity identity;
    identity.emplace_back("version", conversion_.generator);
    identity.emplace_back("draw", name_of(draw.mode));
    identity.emplace_back("seed", std::to_string(draw.seed));
    identity.emplace_back("rows", std::to_string(draw_->rows()));
    identity.emplace_back("of rows", std::to_string(*source_rows_));
    if (!draw.file.empty()) identity.emplace_back("draw file", hash_of_draw_file(draw.file).hex());
    for (const std::string& field : conversion_.fields.only)
      identity.emplace_back("field", printable(field));
    for (const std::string& input : conversion_.inputs) add_stamp(identity, input);
    for (const auto& [input, output] : request_.also) add_stamp(identity, input);
    for (const DrawnArray& target : targets_) {
      identity.emplace_back("output", printable(fs::absolute(target.array.path).string()));
      identity.emplace_back("content", target.table.info.manifest.fingerprint.hex());
    }
    return identity_line(identity);
  }

  // Continues after what an earlier run wrote: only the rows behind it are drawn.
  void write_rows(DrawnArray& target, TemporaryOutput& output) {
    const TensorFrame frame = frame_of(target.array);
    ResumedArray file(output, data_file_options(conversion_.io, conversion_.memory_bytes), frame,
                      [this] { events_.stop_if_asked(); });
    const std::uint64_t begin = done_steps_;
    if (file.is_complete()) {
      done_steps_ = begin + target.array.plan.passes * target.array.rows;
      return;
    }
    const std::unique_ptr<const LocatedRows> rows = target.table.columns.front().locate(events_);
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, rows->row_bytes());
    const std::uint64_t first = file.size() / row_bytes;
    std::uint64_t passed_over = file.size() % row_bytes;  // of that row
    const std::unique_ptr<Draw> left = part_of_draw(*draw_, first, draw_->rows() - first);
    // Dealing into buckets counts from 0.
    Events counted = events_;
    counted.progress = [&](std::uint64_t done, std::uint64_t, std::uint64_t bytes) {
      events_.report(begin + done, all_steps_, done_bytes_ + bytes);
    };
    const std::unique_ptr<DrawnRows> drawn =
        open_drawn_rows(*rows, *left, {conversion_.jobs, row_memory(), scratch_folder_}, counted);
    const std::uint64_t passed = begin + (target.array.plan.passes - 1) * target.array.rows;
    done_bytes_ += (target.array.plan.passes - 1) * rows->row_bytes() * target.array.rows;
    continue_if_stopped(file, [&] {
      for (Bytes piece = drawn->next(); !piece.empty(); piece = drawn->next()) {
        const std::uint64_t known = std::min<std::uint64_t>(passed_over, piece.size());
        passed_over -= known;
        file.append(piece.subspan(known));
        done_bytes_ += piece.size();
        const std::uint64_t written = file.size() / row_bytes;
        events_.report(passed + std::min(written, target.array.rows), all_steps_, done_bytes_);
      }
    });
    done_steps_ = passed + target.array.rows;
    events_.report(done_steps_, all_steps_, done_bytes_);  // also of rows without bytes
    file.finish();
  }

  // What is written is made durable before the process ends.
  template <class Write>
  static void continue_if_stopped(ResumedArray& file, Write write) {
    try {
      write();
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) file.stop();
      throw;
    }
  }

  void write_numbers(const ResampledArray& numbers, TemporaryOutput& output) {
    const TensorFrame frame = frame_of(numbers);
    ResumedArray file(output, data_file_options(conversion_.io, conversion_.memory_bytes), frame,
                      [this] { events_.stop_if_asked(); });
    if (file.is_complete()) {
      done_steps_ += numbers.rows;
      return;
    }
    // Numbers do not lie across blocks: the header is a multiple of their size.
    const std::uint64_t first = file.size() / sizeof(std::uint64_t);
    done_steps_ += first;
    continue_if_stopped(file, [&] { append_numbers(numbers, first, file); });
    file.finish();
  }

  void append_numbers(const ResampledArray& numbers, std::uint64_t asked, ResumedArray& file) {
    OrderedPipeline<std::vector<std::uint64_t>> pipeline(conversion_.jobs);
    while (asked < numbers.rows || pipeline.pending() > 0) {
      while (asked < numbers.rows && pipeline.pending() < conversion_.jobs + 1) {
        const std::uint64_t count = std::min(kNumbersAtOnce, numbers.rows - asked);
        pipeline.submit([this, first = asked, count](unsigned) {
          std::vector<std::uint64_t> rows(count);
          draw_->rows_of(first, rows);
          return rows;
        });
        asked += count;
      }
      const std::vector<std::uint64_t> rows = pipeline.take();
      file.append(std::as_bytes(std::span(rows)));
      done_steps_ += rows.size();
      events_.stop_if_asked();
      events_.report(done_steps_, all_steps_, done_bytes_ += rows.size() * sizeof(std::uint64_t));
    }
  }

  static std::uint64_t bytes_at(const std::string& path) {
    const std::optional<struct stat> facts = facts_at(path);
    return facts ? static_cast<std::uint64_t>(facts->st_size) : 0;
  }

  const ResampleRequest& request_;
  const ConvertRequest& conversion_;
  const PlanFor purpose_;
  const Events& events_;
  const std::string run_folder_;              // scratch space of a run
  const std::string scratch_folder_;          // of this plan or run
  std::optional<std::uint64_t> source_rows_;  // nullopt: no input has been opened
  bool is_array_ = false;                     // the output, not a dataset
  std::optional<RowTable> shard_table_;       // of an output of shards, until it is written
  std::uint64_t shard_row_bytes_ = 0;         // of an output of shards
  std::vector<DrawnArray> targets_;
  std::optional<ResampledArray> numbers_;
  std::unique_ptr<Draw> draw_;
  std::string head_;  // of the journals
  std::uint64_t done_steps_ = 0, all_steps_ = 0, done_bytes_ = 0;
};

}  // namespace

void require_array_names(const ResampleRequest& request) {
  for (const auto& [input, output] : request.also) refuse_stream(output);
  refuse_stream(request.conversion.output);
  refuse_stream(request.indices_output);
  for (const auto& [input, output] : request.also) {
    if (may_be_one_array(output)) continue;
    throw Error(Code::usage,
                "--also writes an array, whose name must end in .npy, .pt or .safetensors")
        .at(output);
  }
  if (request.indices_output.empty() || is_array_name(request.indices_output)) return;
  throw Error(Code::usage, "--save-indices writes an array, whose name must end in .npy")
      .at(request.indices_output);
}

ResampleReport resample(const ResampleRequest& request, const Events& events) {
  return Resampling(request, PlanFor::running, events).run();
}

ResamplePlan plan(const ResampleRequest& request, const Events& events) {
  return Resampling(request, PlanFor::telling, events).plan();
}

}  // namespace shale
