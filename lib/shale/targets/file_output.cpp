#include "shale/targets/file_output.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

#include "shale/arrays/array_writers.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/place.hpp"

namespace shale {

namespace fs = std::filesystem;

Error already_exists(const std::string& output) {
  return Error(Code::exists, "already exists")
      .at(output)
      .hint("choose another output, or pass --overwrite to replace it");
}

namespace {

// In the work folder of each output, while several get their names: `promise` says which ones, a
// line each, that of the first one; `old` is the file that is replaced.
constexpr std::string_view kPromiseName = "promise", kOldName = "old";
constexpr std::uint64_t kMostPromiseBytes = 1 << 20;

// A kill may have truncated it.
std::optional<std::string> read_promise(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  if (!facts || !S_ISREG(facts->st_mode)) return std::nullopt;
  const InputFile file(path);
  std::string promise(std::min(file.size(), kMostPromiseBytes), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(promise)));
  return promise;
}

// One that cannot be read is none: all of it can be made again.
JournalSummary journal_of(const WorkFolder& work) {
  try {
    return work.previous_run();
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    return {};
  }
}

// So much is written again after a kill, at most.
constexpr std::uint64_t kBetweenNotes = 64 << 20;

constexpr std::string_view kNoArrayHint =
    "choose a name that ends in .lmdb, .h5 or .tfrecord; of images --encode raw and --resize "
    "exact=WxH make arrays, in an .npz";

// A line of the journal is a number of bytes.
std::uint64_t noted_bytes(const std::string& line) {
  std::uint64_t bytes = 0;
  std::from_chars(line.data(), line.data() + line.size(), bytes);
  return bytes;
}

Error belongs_to_killed_run(const std::string& output, const std::string& promise) {
  return Error(Code::exists, "a run was killed while it renamed this output and others")
      .at(output)
      .because("its first output is " +
               (fs::path(folder_of_file(output)) / promise.substr(0, promise.find('\n')))
                   .lexically_normal()
                   .string())
      .hint("run that command again to finish it, or choose another output");
}

}  // namespace

void refuse_taken_output(const std::string& output, bool overwrite) {
  // A link that leads nowhere has the name, too.
  const std::optional<struct stat> facts = facts_at(output);
  if (!facts) return;
  const std::optional<struct stat> target = facts_behind(output);
  if (target && S_ISDIR(target->st_mode)) {
    throw Error(Code::exists, "is a directory{}, but an output with this suffix is one file",
                look_at(output) == Place::dataset ? " with a dataset" : "")
        .at(output)
        .hint(fmt::format("choose another name; or write the shards to '{}/'", printable(output)));
  }
  if (!S_ISREG(facts->st_mode) && !S_ISLNK(facts->st_mode)) {
    throw Error(Code::exists, "is a FIFO, a socket or a device, which is never replaced")
        .at(output)
        .hint("choose another name");
  }
  if (!overwrite) throw already_exists(output);
}

void refuse_images(const SourceInfo& info, const std::string& output, bool are_chosen) {
  const bool are_pixels = std::ranges::all_of(info.image_fields, [&](std::size_t field) {
    return info.schema.fields[field].kind == Kind::tensor;
  });
  if (are_pixels || are_chosen || has_fixed_fields(info.schema)) return;
  throw Error(Code::unsupported, "encoded images have no common size, so they cannot form an array")
      .at(output)
      .hint(kNoArrayHint);
}

const Field& only_array_field(const SourceInfo& info, const std::string& output, bool are_chosen) {
  const Schema& schema = info.schema;
  refuse_images(info, output, are_chosen);
  if (schema.fields.size() != 1) {
    std::string names;
    for (const Field& field : schema.fields)
      names += (names.empty() ? "" : ", ") + printable(field.name);
    throw Error(Code::usage, "one array holds one field, but the input has {}",
                schema.fields.size())
        .at(output)
        .hint(info.transform ? "choose a name that ends in .npz, which holds all of them, or "
                               "shards (--to npy)"
                             : "pass --fields with one of them: " + names);
  }
  const Field& field = schema.fields.front();
  if (fixed_bytes_of(field)) return field;
  throw Error(Code::unsupported,
              "field '{}' is of kind {}, whose values differ in size, so they cannot form an array",
              printable(field.name), name_of(field.kind))
      .at(output)
      .hint(kNoArrayHint);
}

TemporaryOutput::TemporaryOutput(OfKilledRun /*unused*/, const std::string& output, bool overwrite)
    : output_(output),
      overwrite_(overwrite),
      place_(SetPlace::beside_file(output)),
      work_(WorkFolder::BesideFile{output}),
      path_(join_path(work_.path(), fs::path(output).filename().string())),
      old_path_(join_path(work_.root(), kOldName)),
      promise_path_(join_path(work_.root(), kPromiseName)) {}

TemporaryOutput::TemporaryOutput(const std::string& output, bool overwrite)
    : TemporaryOutput(OfKilledRun{}, output, overwrite) {
  if (const auto left = promised()) throw belongs_to_killed_run(output, *left);
  (void)finish_swap(place_, work_);
  work_.clear();
}

TemporaryOutput::TemporaryOutput(const std::string& output, bool overwrite, std::string_view head)
    : TemporaryOutput(OfKilledRun{}, output, overwrite) {
  if (const auto left = promised()) throw belongs_to_killed_run(output, *left);
  (void)finish_swap(place_, work_);
  const JournalSummary left = stands(path_) ? journal_of(work_) : JournalSummary{};
  if (left.head == head) {
    work_.resume_lines(left);
  } else {
    work_.clear();
    work_.begin(head);
  }
}

void clear_left_output(const std::string& output) noexcept try {
  const std::string folder = WorkFolder::path_beside(output);
  if (stands(join_path(folder, kPromiseName))) return;
  // What can be continued is not in the way: it has not got its name.
  if (stands(
          join_path(join_path(folder, WorkFolder::kNewName), fs::path(output).filename().string())))
    return;
  if (work_folder_at(folder) == WorkFolderState::ours) {
    const TemporaryOutput finished(output, true);
  } else {
    WorkFolder::clear_left_of_file(output);
  }
} catch (...) {
  return;  // another process works there, or nothing can be written
}

TemporaryOutput::~TemporaryOutput() try {
  if (!is_index_due_ && !is_kept_ && !stands(promise_path_)) work_.remove();
} catch (const Error&) {
  return;  // nobody knows whether others wait for this one: the next run finds out
}

void TemporaryOutput::drop_index() noexcept {
  remove_file(join_path(work_.path(), place_.manifest));
}

void TemporaryOutput::publish() {
  put_file_in_place(place_, work_, [this] {
    if (overwrite_) {
      rename_file(path_, output_);
    } else if (!rename_to_free_name(path_, output_)) {
      throw already_exists(output_);
    }
    sync_directory(folder_of_file(output_));
    is_index_due_ = true;
  });
  is_index_due_ = is_kept_ = false;
}

std::optional<std::string> TemporaryOutput::promised() const { return read_promise(promise_path_); }

void TemporaryOutput::promise(std::string_view promise) {
  OutputFile file(promise_path_, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
  file.append(as_bytes(promise));
  (void)file.finish();
  sync_directory(work_.root());
}

void TemporaryOutput::withdraw_promise() noexcept { remove_file(promise_path_); }

void TemporaryOutput::move_old_away() {
  if (!stands(path_) || !stands(output_)) return;  // has its name; or there is no old one
  refuse_taken_output(output_, overwrite_);
  if (!rename_to_free_name(output_, old_path_)) throw already_exists(output_);
}

void TemporaryOutput::take_name() {
  if (!stands(path_)) return;
  if (!rename_to_free_name(path_, output_)) throw already_exists(output_);
  has_name_ = true;
  sync_directory(folder_of_file(output_));
}

void TemporaryOutput::undo() noexcept try {
  if (std::exchange(has_name_, false)) rename_file(output_, path_);
  if (stands(old_path_)) (void)rename_to_free_name(old_path_, output_);
  sync_directory(folder_of_file(output_));
} catch (const Error&) {
  return;  // the error that led here is the one to be told
}

void TemporaryOutput::settle() noexcept { remove_file(old_path_); }

ResumedArray::ResumedArray(TemporaryOutput& output, const OutputFile::Options& options,
                           const TensorFrame& frame, const std::function<void()>& stop_if_asked)
    : output_(output),
      frame_(frame),
      head_bytes_(frame.head(0, 0).size()),
      noted_(noted_bytes(output.work().last_line())) {
  if (noted_ == frame.file_bytes()) return;
  // Rows only are noted before the file is complete, and a head is shorter than a block.
  noted_ = noted_ / kBlockBytes * kBlockBytes;
  if (noted_ == 0) {
    (void)remove_file(output.path());
    file_.emplace(output.path(), options);
    file_->append(frame.head(0, 0));
    return;
  }
  file_.emplace(OutputFile::continued(output.path(), noted_, options));
  if (!frame.has_checksums()) return;
  visit_file_pieces(InputFile(output.path()), head_bytes_, noted_ - head_bytes_, [&](Bytes piece) {
    crc32_ = crc32(piece, crc32_);
    stop_if_asked();
  });
}

std::uint64_t ResumedArray::size() const {
  return file_ ? file_->size() - head_bytes_ : frame_.rows_bytes(0);
}

void ResumedArray::append(Bytes rows) {
  file_->append(rows);
  if (frame_.has_checksums()) crc32_ = crc32(rows, crc32_);
  if (file_->size() - noted_ >= kBetweenNotes) note(file_->sync());
}

void ResumedArray::stop() {
  if (file_ && file_->size() >= noted_ + kBlockBytes) note(file_->sync());
}

void ResumedArray::finish() {
  if (frame_.has_checksums()) {
    file_->patch(0, frame_.head(0, crc32_));
    file_->append(frame_.trailer(std::span(&crc32_, 1)));
  }
  const std::uint64_t bytes = file_->finish().bytes, expected = frame_.file_bytes();
  if (bytes != expected) {
    throw Error(Code::bug, "{} bytes were written, but the array is {}", bytes, expected)
        .at(output_.output());
  }
  file_.reset();
  note(bytes);
}

void ResumedArray::note(std::uint64_t durable) {
  sync_directory(output_.work().path());
  output_.work().add_line(std::to_string(durable));
  noted_ = durable;
}

std::string promise_of(const std::vector<std::string>& outputs, const std::string& beside) {
  const auto whole = [](const std::string& path) { return fs::absolute(path).lexically_normal(); };
  std::string promise;
  for (const std::string& output : outputs) {
    const fs::path path = whole(output).lexically_relative(whole(beside).parent_path());
    promise += printable(path.string()) + "\n";
  }
  return promise;
}

void publish_together(const TemporaryOutputs& arrays) {
  if (arrays.size() == 1) return arrays.front()->publish();
  std::vector<std::string> outputs;
  for (const auto& array : arrays) outputs.push_back(array->output());
  const auto drop = [&] {
    for (auto array = arrays.rbegin(); array != arrays.rend(); ++array)
      (*array)->withdraw_promise();
  };
  try {
    // That of the first one comes last: with it the run is decided.
    for (auto array = arrays.rbegin(); array != arrays.rend(); ++array)
      (*array)->promise(promise_of(outputs, (*array)->output()));
    for (const auto& array : arrays) array->move_old_away();
    for (const auto& array : arrays) array->take_name();
  } catch (...) {
    for (const auto& array : arrays) array->undo();
    drop();
    throw;
  }
  for (const auto& array : arrays) array->settle();
  drop();
}

bool finish_killed_run(const std::vector<std::string>& outputs, bool overwrite) {
  bool was_killed = false;
  for (const std::string& output : outputs) {
    const auto left = read_promise(join_path(WorkFolder::path_beside(output), kPromiseName));
    if (!left) continue;
    if (!promise_of(outputs, output).starts_with(*left)) throw belongs_to_killed_run(output, *left);
    was_killed = true;
  }
  if (!was_killed) return false;
  TemporaryOutputs arrays;
  for (const std::string& output : outputs) {
    arrays.push_back(
        std::make_unique<TemporaryOutput>(TemporaryOutput::OfKilledRun{}, output, overwrite));
  }
  const bool is_decided =
      arrays.front()->promised() == promise_of(outputs, arrays.front()->output());
  if (is_decided) {
    for (const auto& array : arrays) array->move_old_away();
    for (const auto& array : arrays) array->take_name();
    for (const auto& array : arrays) array->settle();
  }
  for (auto array = arrays.rbegin(); array != arrays.rend(); ++array) (*array)->withdraw_promise();
  return is_decided;
}

}  // namespace shale
