#include "shale/targets/conversion.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/encoding/forecast.hpp"
#include "shale/encoding/sample_transformer.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/format/layout.hpp"
#include "shale/format/row_groups.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/common_keys.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

// The rest is in skipped.csv; one file has no list beside it.
constexpr std::size_t kShownSkips = 10, kShownSkipsOfFile = 1000;

// How many images of several pages or frames became their first one.
std::uint64_t images_without_pages(const std::optional<ImageReport>& images) {
  if (!images) return 0;
  const auto found = images->changed.find(std::string(name_of(ImageChange::to_page)));
  return found == images->changed.end() ? 0 : found->second;
}

std::string unfit_text(const UnfitCount& unfit) {
  return fmt::format("{} the type given by --cast; the first is {}",
                     format_counted(unfit.count, "number does not fit", "numbers do not fit"),
                     unfit.first);
}

}  // namespace

OptionSet format_options_of(const ConvertRequest& request, const Format& format) {
  OptionSet options(format.options);
  if (const Layout* const layout = layout_of(request))
    options.set(kLayoutOption, std::string(layout->option));
  if (request.row_group_bytes > 0)
    options.set(kRowGroupOption, std::to_string(request.row_group_bytes));
  return options;
}

namespace {

std::uint64_t memory_beside(std::uint64_t memory_bytes, std::uint64_t source_bytes) {
  const std::uint64_t of_source = std::max(list_memory(memory_bytes), source_bytes);
  return memory_bytes - of_source - ShardSetWriter::buffer_bytes(memory_bytes);
}

// With more memory the source takes more of it, too.
bool is_enough_memory(const ConvertRequest& request, const Format& format, const SourceInfo& source,
                      std::uint64_t shard_bytes, std::uint64_t memory_bytes) {
  const double share =
      static_cast<double>(source.memory_bytes) / static_cast<double>(request.memory_bytes);
  const auto of_source = static_cast<std::uint64_t>(share * static_cast<double>(memory_bytes));
  try {
    refuse_too_large(source, format, format_options_of(request, format), shard_bytes,
                     memory_beside(memory_bytes, of_source));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Files for other readers have no list beside them.
bool has_lists(const ShardSetWriter::Options& options) {
  return options.file_name.empty() && !options.divided_by;
}

}  // namespace

std::uint64_t memory_for_samples(std::uint64_t memory_bytes, const SourceInfo& source) {
  return memory_beside(memory_bytes, source.memory_bytes);
}

void refuse_unfit_samples(const ConvertRequest& request, const Format& format,
                          const SourceInfo& source, std::uint64_t shard_bytes) try {
  refuse_too_large(source, format, format_options_of(request, format), shard_bytes,
                   memory_for_samples(request.memory_bytes, source));
} catch (const Error& error) {
  constexpr std::uint64_t kStep = 1 << 20, kMost = std::uint64_t{1} << 44;
  std::uint64_t least = request.memory_bytes, enough = 2 * least;
  const auto is_enough = [&](std::uint64_t memory_bytes) {
    return is_enough_memory(request, format, source, shard_bytes, memory_bytes);
  };
  while (enough < kMost && !is_enough(enough)) enough *= 2;
  if (enough >= kMost) throw;  // it is not a matter of memory
  while (enough - least > kStep) {
    const std::uint64_t middle = least + (enough - least) / 2;
    (is_enough(middle) ? enough : least) = middle;
  }
  Error told(error.code(), "{}", error.message());
  if (error.sample()) told.for_sample(error.sample()->key, error.sample()->index);
  throw told.hint(fmt::format("pass --memory {}MiB or more, or leave the sample out of the input",
                              (enough + kStep - 1) / kStep));
}

Manifest wanted_manifest(const ConvertRequest& request, const SourceInfo& source) {
  Manifest manifest;
  manifest.generator = request.generator;
  manifest.format = request.format;
  manifest.options = shaping_options(request, source);
  manifest.schema = source.schema;
  manifest.classes = source.classes;
  manifest.source = source.manifest;
  if (source.transform) manifest.transform = source.transform->recorded();
  if (source.part) {
    manifest.part = source.part->number;
    manifest.source.samples = source.part->samples;
    manifest.source.bytes = source.part->bytes;
  }
  return manifest;
}

void take_class_names(ShardSetWriter::Options& options, const SourceInfo& source) {
  const std::optional<std::size_t> label = label_of(source.schema, source.fields);
  if (label && source.classes.size() > options.classes.names.size())
    options.classes = {*label, source.classes};
}

std::optional<std::string> why_classes_are_lost(const Format& format, const SourceInfo& source) {
  const std::vector<std::string>& names = source.classes;
  if (names.empty()) return std::nullopt;
  if (format.classes == nullptr) return "the file has no place for class names";
  if (format.classes->bytes(names) > 0) return std::nullopt;
  return fmt::format("{} has no room for these {} class names", format.a_file, names.size());
}

void say_how_reals_are_kept(const Format& format, const SourceInfo& source, const Events& events) {
  const auto is_f8 = [](const Field& of) { return of.kind == Kind::real && of.dtype == DType(); };
  if (format.can.keeps_dtypes || std::ranges::none_of(source.schema.fields, is_f8)) return;
  events.say(fmt::format(
      "{} has no 64-bit floats: each real is stored as the 8 bytes of a little-endian double, "
      "which its readers get as bytes (numpy.frombuffer(value, '<f8'))",
      format.a_file));
}

void say_notes(const SourceInfo& source, const Events& events) {
  for (const std::string& note : source.notes) events.say(note);
  if (!source.labels_are_sorted) return;
  events.say(
      "samples are sorted by label: a sequential reader would see one class at a time; "
      "pass --shuffle to write a shuffled order");
}

std::string bad_samples_text(std::uint64_t count, const Schema& schema, bool has_images) {
  if (!schema.fields.empty() && schema.fields.front().kind == Kind::list)
    return format_counted(count, "bad video", "bad videos");
  return has_images ? format_counted(count, "bad image", "bad images")
                    : format_counted(count, "bad sample", "bad samples");
}

void forecast(ConvertPlan& plan, const ConvertRequest& request, const Format& format,
              Source& source, Manifest manifest, const ShardLimits& limits) {
  refuse_unfit_samples(request, format, source.info(), limits.bytes);
  manifest.layout = format.layout(source.info().schema, format_options_of(request, format));
  const bool is_known =
      !source.info().transform ||
      rows_within(limits, format, source.info().schema, OptionSet(format.options)).has_value();
  const ShardForecast shards =
      is_known ? forecast_shards(source, format, limits.bytes, limits.samples, request.on_error)
               : forecast_transformed(source, format, limits.bytes, limits.samples,
                                      memory_for_samples(request.memory_bytes, source.info()),
                                      request.on_error);
  if (source.info().is_stream) manifest.source = source.info().manifest;
  plan.notes = source.info().notes;
  manifest.shard_count = shards.shards;
  plan.skipped = shards.left_out;
  manifest.digest.samples = source.info().manifest.samples - plan.skipped;
  manifest.payload_bytes = shards.payload_bytes.value_or(source.info().manifest.bytes);
  // Of what is lost only the number is known.
  if (plan.skipped > 0)
    manifest.payload_bytes = std::min(manifest.payload_bytes, shards.data_bytes);
  manifest.ignored = source.info().ignored;
  manifest.left_out = source.info().left_out;
  manifest.skipped = source.info().skipped + plan.skipped;
  plan.file_bytes = shards.file_bytes;
  plan.data_bytes = shards.data_bytes;
  plan.measured = shards.measured;
  plan.manifest = std::move(manifest);
}

Conversion::Conversion(const ConvertRequest& request, const Events& events, const Format& format,
                       Source& source, WorkFolder& work, ShardSetWriter::Options options,
                       const std::optional<RunState>& from, std::uint64_t run)
    : request_(request),
      events_(events),
      format_(format),
      format_options_(format_options_of(request, format)),
      source_(source),
      work_(work),
      shards_before_(from ? work.shards() : 0),
      has_lists_(has_lists(options)),
      shown_skips_(has_lists_ ? kShownSkips : kShownSkipsOfFile),
      divided_by_(options.divided_by),
      writer_(format, source.info().schema, format_options_, work,
              writer_options(std::move(options), from.has_value())),
      skipped_path_(join_path(work.path(), list_name(kSkippedName, run))),
      skipped_list_(work.path(), list_name(kSkippedName, run), {"key", "reason", "detail"}),
      ignored_list_(work.path(), list_name(kIgnoredName, run), {"entry", "reason"}),
      images_list_(work.path(), list_name(kImagesName, run),
                   {"key", "odd", "type", "width", "height", "color"}),
      state_(from.value_or(RunState{})) {
  if (!source.info().image_fields.empty() && !state_.images) state_.images.emplace();
  if (source.info().transform && !state_.taken) state_.taken.emplace();
  if (from) {
    skipped_list_.resume(from->skipped_list.bytes);
    images_list_.resume(from->images_list.bytes);
    if (from->skipped > 0) show_earlier_skips();
  }
  note_images(work.path());
  if (state_.samples > 0) {
    source.skip(state_.samples);
    if (source.info().is_stream) prove_stream();
    return;
  }
  source.list_skipped([this](const SkippedSample& sample) {
    skipped_list_.add({sample.key, sample.reason, sample.detail});
  });
}

ShardSetWriter::Options Conversion::writer_options(ShardSetWriter::Options options,
                                                   bool continues) {
  options.io = request_.io;
  options.memory_bytes = request_.memory_bytes;
  options.keys_are_unique = source_.info().keys_are_unique;
  take_class_names(options, source_.info());
  options.continues = continues;
  options.state = [this](bool is_durable) { return state_line(state(is_durable)); };
  options.stop_if_asked = [this] { events_.stop_if_asked(); };
  return options;
}

// From here on; those of the run before are in its shards.
void Conversion::note_images(const std::string& scratch_folder) {
  Manifest wanted = wanted_manifest(request_, source_.info());
  wanted.images = state_.images;
  wanted.layout = writer_.layout();
  const std::optional<std::size_t> field = field_of_duplicates(wanted);
  if (has_lists_ && field)
    written_images_.emplace(scratch_folder, *field, state_.samples - state_.skipped);
}

// What the run before read of it has gone by again.
void Conversion::prove_stream() const {
  if (source_.point() == state_.stream) return;
  throw Error(Code::mismatch,
              "the stream does not begin with the {} that the unfinished run read of it",
              format_counted(state_.stream.value_or(StreamPoint{}).bytes, "byte", "bytes"))
      .at(request_.inputs.front())
      .hint("send the same stream again, or pass --overwrite to start again with this one");
}

// The first ones of the run before: its list begins with those that the input had left out already.
void Conversion::show_earlier_skips() {
  const std::uint64_t before = source_.info().skipped + 1;  // and the header
  read_csv(skipped_path_, [&](std::uint64_t row, CsvRow fields) {
    if (row > before && fields.size() == 3 && first_skipped_.size() < shown_skips_)
      first_skipped_.push_back(
          {std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
  });
}

RunState Conversion::state(bool is_durable) {
  RunState state = state_;
  state.skipped_list = is_durable ? skipped_list_.sync() : skipped_list_.flush();
  state.images_list = is_durable ? images_list_.sync() : images_list_.flush();
  return state;
}

void Conversion::run() {
  Encoding encoding{format_, format_options_, writer_.layout(), request_.on_error};
  if (written_images_) encoding.hashed_field = written_images_->field();
  encode_all(source_, encoding,
             {.jobs = request_.jobs,
              .memory_bytes = memory_for_samples(request_.memory_bytes, source_.info()),
              .rows_a_shard = writer_.rows_a_shard(),
              .first = state_.samples,
              .left_out = state_.skipped},
             events_, [this](const EncodedSample& sample) { commit(sample); });
  refuse_unfit();
  refuse_all_bad();
}

ConvertReport Conversion::finish(Manifest manifest) {
  const ShardSetWriter::Summary written = writer_.finish();
  const SourceInfo& source = source_.info();
  if (source.is_stream) take_totals(manifest);
  if (written.digest.samples + state_.skipped != source.manifest.samples) {
    throw Error(Code::bug, "{} samples written and {} skipped, but the input has {}",
                written.digest.samples, state_.skipped, source.manifest.samples);
  }
  prove_input(source, state_.read, request_.inputs.front());
  note_orientation(source);
  if (state_.unfit.count > 0)
    events_.say(fmt::format(
        "{}, in sample '{}'; {}", unfit_text(state_.unfit), printable(state_.unfit.key),
        state_.unfit.first.ends_with("which bool cannot hold") ? "each number but 0 became true"
                                                               : "the nearest were taken"));
  manifest.layout = writer_.layout();
  if (shards_before_ > 0 && has_lists_ && !source.keys_are_unique)
    refuse_keys_of_before(manifest, work_, shards_before_, events_);
  manifest.skipped = source.skipped + state_.skipped;
  manifest.ignored = source.ignored;
  manifest.left_out = source.left_out;
  manifest.images = state_.images;
  manifest.source.digest = state_.taken;
  manifest.digest = written.digest;
  manifest.payload_bytes = written.payload_bytes;
  manifest.shard_count = written.shards;
  ConvertReport report;
  if (source.manifest.kind != kDatasetKind) report.left_out = manifest.left_out.count();
  if (const std::uint64_t images = images_without_pages(state_.images)) {
    manifest.left_out.add({"pages", manifest.transform.front().field, "first_page_taken", images});
    ++report.left_out;
  }
  report.manifest = std::move(manifest);
  report.notes = source.notes;
  report.file_bytes = written.file_bytes;
  report.first_skipped = std::move(first_skipped_);
  report.skipped = state_.skipped;
  return report;
}

// Of a stream, known by now.
void Conversion::take_totals(Manifest& manifest) const {
  const SourceInfo& source = source_.info();
  refuse_too_many_bad();
  const Manifest wanted = wanted_manifest(request_, source);
  manifest.options = wanted.options;
  manifest.source = wanted.source;
  for (std::size_t i = notes_said_; i < source.notes.size(); ++i) events_.say(source.notes[i]);
}

void Conversion::for_each_skipped(const std::function<void(const std::string&)>& use) {
  if (state_.skipped == 0) return;
  (void)skipped_list_.sync();
  read_csv(skipped_path_, [&](std::uint64_t row, CsvRow fields) {
    if (row > 1) use(std::string(fields.front()));
  });
}

void Conversion::finish_lists(Manifest& manifest) {
  source_.list_ignored([this](std::string_view entry, std::string_view reason) {
    ignored_list_.add({std::string(entry), std::string(reason)});
  });
  for (CsvList* list : {&skipped_list_, &ignored_list_, &images_list_}) {
    if (std::optional<ManifestFile> file = list->finish()) manifest.files.push_back(*file);
  }
}

// The writer goes first: with the shard that it may close, the journal says what was counted. After
// a number that does not fit and must, nothing is written: the others are only counted.
void Conversion::commit(const EncodedSample& sample) {
  if (!request_.fields.is_lossy && (sample.unfit || state_.unfit.count > 0))
    return take_unfit(sample);
  if (sample.record) writer_.append(*sample.record);
  if (sample.record && written_images_) written_images_->add(sample.image_hash, sample.record->key);
  take_unfit(sample);
  if (sample.record && divided_by_) state_.label = sample.record->row.cells[*divided_by_].integer;
  state_.samples += sample.record ? sample.record->digest.samples : 1;
  if (sample.behind) state_.stream = sample.behind;
  state_.read.append(sample.read);
  if (sample.record && state_.taken) take_changes(sample);
  if (sample.image && (sample.record || !sample.image->fault.empty())) report_image(sample);
  if (!sample.fault.empty()) tolerate(sample);
}

void Conversion::take_unfit(const EncodedSample& sample) {
  if (!sample.record || !sample.unfit) return;
  const UnfitNumbers& unfit = *sample.unfit;
  if (state_.unfit.count == 0) {
    state_.unfit.number = state_.samples + (unfit.rows.empty() ? 0 : unfit.rows.front().first);
    state_.unfit.key = unfit.key.empty() ? sample.key : unfit.key;
    state_.unfit.first = unfit.first;
  }
  state_.unfit.count += unfit.count;
}

void Conversion::refuse_unfit() const {
  if (request_.fields.is_lossy || state_.unfit.count == 0) return;
  throw Error(Code::bad_content, "{}", unfit_text(state_.unfit))
      .for_sample(state_.unfit.key, state_.unfit.number)
      .hint("choose another type, or pass --lossy to take the nearest numbers that fit");
}

void Conversion::take_changes(const EncodedSample& sample) {
  state_.taken->append(sample.read);
  for (std::size_t i = 0; i < kImageChanges; ++i) {
    if (sample.changes[i] > 0)
      state_.images->changed[std::string(name_of(static_cast<ImageChange>(i)))] +=
          sample.changes[i];
  }
}

void Conversion::report_image(const EncodedSample& sample) {
  const ImageInfo& image = *sample.image;
  if (!sample.record) return;
  if (sample.all_images) {
    state_.images->add(*sample.all_images);
  } else {
    ++state_.images->types[std::string(name_of(image.type))];
    state_.images->sizes.count(image.width, image.height);
  }
  std::string odd;
  for (const std::string_view what : image.odd) {
    ++state_.images->odd[std::string(what)];
    odd.append(odd.empty() ? "" : " ").append(what);
  }
  if (!image.fault.empty()) {
    ++state_.images->odd["kept-bad"];
    odd.append(odd.empty() ? "" : " ").append("kept-bad");
  }
  if (odd.empty()) return;
  images_list_.add({sample.key, odd, std::string(name_of(image.type)), std::to_string(image.width),
                    std::to_string(image.height), image.color});
}

// A sample with bad content: listed, counted, and too many of them end the run.
void Conversion::tolerate(const EncodedSample& sample) {
  ++state_.bad;
  if (!sample.record)
    skip({sample.key, std::string(name_of(sample.fault.code)), sample.fault.text});
  constexpr std::size_t kNamedBad = 3;
  if (first_bad_.size() < kNamedBad) first_bad_.push_back("'" + printable(sample.key) + "'");
  last_bad_ = {.key = sample.key, .index = state_.samples - 1};
  last_fault_ = sample.fault.text;
  last_is_incomplete_ = is_of_sample(sample.fault.code);
  // A share of a stream's samples is known at its end.
  if (!source_.info().is_stream || !request_.max_errors.is_share) refuse_too_many_bad();
}

void Conversion::refuse_too_many_bad() const {
  const std::uint64_t limit = request_.max_errors.limit(source_.info().manifest.samples);
  if (state_.bad > limit) {
    const Schema& schema = source_.info().schema;
    Error error(Code::limit, "{}, more than --max-errors allows ({}){}",
                last_is_incomplete_ && schema.fields.front().kind != Kind::list
                    ? format_counted(state_.bad, "sample left out", "samples left out")
                    : bad_samples_text(state_.bad, schema, state_.images.has_value()),
                limit, last_fault_.empty() ? "" : "; the last one " + last_fault_);
    // Of a run that was continued, the one before may have met all of them.
    if (!last_fault_.empty()) error.for_sample(last_bad_.key, last_bad_.index);
    const std::string first =
        first_bad_.size() < 2 ? "check the input"
                              : fmt::format("the first ones are {}", fmt::join(first_bad_, ", "));
    throw error.hint(fmt::format("{}; if so many are expected, raise --max-errors{}", first,
                                 has_lists_ && request_.on_error == OnError::skip
                                     ? ": skipped.csv then lists them all"
                                     : ""));
  }
}

// What image work cannot know, and a user sees only in training: which way up.
void Conversion::note_orientation(const SourceInfo& source) const {
  if (!source.transform || !state_.images) return;
  const auto count_of = [this](const std::string& what) {
    const auto found = state_.images->odd.find(what);
    return found == state_.images->odd.end() ? 0 : found->second;
  };
  const std::uint64_t turned = count_of("exif-rotated"), other = count_of("mask-size");
  const auto applies = [](const FieldTransform& field) { return field.rule.apply_rotation; };
  const auto is_raw = [](const FieldTransform& field) {
    return field.rule.encode == EncodeAs::raw && !field.rule.is_mask;
  };
  const std::vector<FieldTransform>& fields = source.transform->fields();
  const bool is_applied = std::ranges::any_of(fields, applies);
  if (turned > 0 && !is_applied && std::ranges::any_of(fields, is_raw)) {
    events_.say(
        fmt::format("{} an EXIF orientation, which raw pixels cannot say: they lie as they "
                    "are stored; pass --apply-rotation to turn them",
                    format_counted(turned, "image has", "images have")));
  }
  if (other > 0) {
    events_.say(fmt::format("{} of another size than the image (mask-size in images.csv){}",
                            format_counted(other, "mask is", "masks are"),
                            turned > 0 && !is_applied
                                ? "; if they were drawn on the turned images, pass --apply-rotation"
                                : ""));
  }
}

// What is written of them would hold nothing.
void Conversion::refuse_all_bad() const {
  if (state_.skipped == 0 || state_.skipped < state_.samples || source_.info().part) return;
  Error error(Code::bad_content, "there is nothing to write: {}, and no other sample",
              bad_samples_text(state_.skipped, source_.info().schema, state_.images.has_value()));
  if (!first_skipped_.empty()) {
    error.because(fmt::format("'{}' {}", printable(first_skipped_.front().key),
                              first_skipped_.front().detail));
  }
  throw error.hint("--on-error fail ends at the first of them");
}

void Conversion::skip(const SkippedSample& sample) {
  ++state_.skipped;
  skipped_list_.add({sample.key, sample.reason, sample.detail});
  if (first_skipped_.size() < shown_skips_) first_skipped_.push_back(sample);
}

}  // namespace shale
