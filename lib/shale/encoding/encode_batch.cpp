#include "shale/encoding/encode_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/digest.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/json_text.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/encoding/unread_sample.hpp"
#include "shale/format/list_elements.hpp"

namespace shale {
namespace {

std::uint64_t payload_of(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Value& value : sample.values) bytes += payload_bytes_of(value);
  return bytes;
}

void add_odd(ImageInfo& to, std::string_view what) {
  const auto at = std::lower_bound(to.odd.begin(), to.odd.end(), what);
  if (at == to.odd.end() || *at != what) to.odd.insert(at, what);
}

// What an image is by its header and its end, and, if that is wanted, whether it decodes.
ImageInfo examine(Bytes bytes, std::string_view name, bool decodes, EncodedSample& into) {
  ImageInfo image = probe_image(bytes, name);
  if (!decodes || !image.fault.empty()) return image;
  DecodeResult decoded = decode_and_discard(bytes, image.type);
  into.undecoded += decoded.was_decoded ? 0 : 1;
  if (!decoded.fault.empty()) image.fault = {ImageFaultCode::damaged, std::move(decoded.fault)};
  return image;
}

void count_image(const ImageInfo& image, EncodedSample& into) {
  if (!into.all_images) into.all_images.emplace();
  ++into.all_images->types[std::string(name_of(image.type))];
  into.all_images->sizes.count(image.width, image.height);
}

// What the bytes of an image are to be held in, if they are not in memory.
struct ImageRoom {
  std::vector<std::byte> bytes;
  std::uint64_t limit = 0;

  [[nodiscard]] Bytes hold(const AnyBytes& image) {
    if (image.unread() == nullptr) return image.held();
    if (image.size() > limit) throw sample_over_memory(image.size(), limit);
    bytes.clear();
    bytes.reserve(image.size());
    image.for_each_piece(
        [this](Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
    return bytes;
  }
};

// How images are looked at.
struct ImageProbe {
  std::uint64_t largest = 0;  // that may be held, of a list that stays unread
  bool decodes = false;
};

// Of a file that no work is done on: photos of telephones are often HEIC whatever their suffix is.
ImageInfo as_kept(ImageInfo image) {
  const bool is_rarely_read = image.type == ImageType::heic || image.type == ImageType::avif;
  if (is_rarely_read && image.fault.empty())
    image.fault = {ImageFaultCode::unsupported,
                   fmt::format("is {}, which loaders do not decode: --encode jpeg or png takes it",
                               name_of(image.type))};
  return image;
}

// The images of a list as one; `files`: what they were read from, or nothing.
void probe_list(const Value& list, const std::vector<PendingFile>& files, const ImageProbe& probe,
                EncodedSample& into) {
  ImageRoom room{.bytes = {}, .limit = probe.largest};
  for (std::size_t i = 0; i < count_elements(list); ++i) {
    const std::string_view path = files.empty() ? std::string_view() : files[i].path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    ImageInfo image = examine(room.hold(element_of(list, i)), name, probe.decodes, into);
    count_image(image, into);
    if (!image.fault.empty() && into.fault.empty()) {
      into.fault = image.fault;
      into.fault.text =
          fmt::format("has a bad frame: number {}{} {}", i,
                      name.empty() ? "" : fmt::format(", {},", printable(name)), image.fault.text);
    }
    if (!into.image) {
      into.image = std::move(image);
      continue;
    }
    for (const std::string_view what : image.odd) add_odd(*into.image, what);
    const bool has_size = image.fault.empty() && into.image->fault.empty();
    if (has_size && (image.width != into.image->width || image.height != into.image->height))
      add_odd(*into.image, "frame-sizes");
  }
  if (into.image) into.image->fault = into.fault;
}

// As they are compared with a mask: turned, or as they are stored.
std::pair<std::uint32_t, std::uint32_t> sides_of(const ImageInfo& image, bool is_turned) {
  std::pair sides(image.width, image.height);
  if (is_turned && image.orientation >= 5) std::swap(sides.first, sides.second);
  return sides;
}

// One image of several that a sample has, under the name of its field. `is_turned`: as EXIF says.
void probe_field(Bytes bytes, const std::string& name, std::string_view file, bool is_turned,
                 bool decodes, EncodedSample& into) {
  ImageInfo image = examine(bytes, file, decodes, into);
  count_image(image, into);
  if (!image.fault.empty() && into.fault.empty()) {
    into.fault = image.fault;
    into.fault.text = fmt::format("of field '{}' {}", printable(name), image.fault.text);
  }
  if (!into.image) {
    into.image = std::move(image);
  } else {
    for (const std::string_view what : image.odd) add_odd(*into.image, what);
    if (is_mask({}, name) && image.fault.empty() && into.fault.empty() &&
        sides_of(image, is_turned) != sides_of(*into.image, is_turned))
      add_odd(*into.image, "mask-size");
  }
  into.image->fault = into.fault;
}

void probe_images(const Sample& sample, const SourceInfo& source,
                  const std::vector<PendingFile>& files, const ImageProbe& probe,
                  EncodedSample& into) {
  if (source.image_fields.size() > 1) {
    const bool is_turned =
        !source.transform || source.transform->fields().front().rule.apply_rotation;
    for (const std::size_t field : source.image_fields) {
      const auto* image = std::get_if<Bytes>(&sample.values[field]);
      const auto file = std::ranges::find(files, field, &PendingFile::field);
      if (image != nullptr)
        probe_field(*image, source.schema.fields[field].name,
                    file == files.end() ? std::string_view() : file->path, is_turned, probe.decodes,
                    into);
    }
    return;
  }
  const Value& value = sample.values[source.image_fields.front()];
  if (is_list(value)) return probe_list(value, files, probe, into);
  const auto* image = std::get_if<Bytes>(&value);
  if (image == nullptr) return;
  into.image = examine(*image, sample.key, probe.decodes, into);
  if (!source.transform && !files.empty()) into.image = as_kept(*std::move(into.image));
  into.fault = into.image->fault;
}

// Of files: what a source knows by itself it has checked.
ImageFault fault_of_texts(const Sample& sample, const Schema& schema) {
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const auto* text = std::get_if<Bytes>(&sample.values[i]);
    if (field.kind != Kind::text || text == nullptr) continue;
    if (!is_utf8(as_text(*text)))
      return {ImageFaultCode::not_text,
              fmt::format("has text that is not UTF-8, in field '{}'", printable(field.name))};
    if (!field.is_json) continue;
    if (const std::optional<std::string> fault = json_fault(as_text(*text)))
      return {ImageFaultCode::not_text,
              fmt::format("has no JSON in field '{}': {}", printable(field.name), *fault)};
  }
  return {};
}

Error lacks_partner(std::string_view fact, OnError on_error) {
  return Error(Code::bad_content, "the sample {}", fact)
      .hint(
          on_error == OnError::keep
              ? "a sample without all of its fields cannot be kept: pass --on-error skip to leave "
                "such samples out and list them"
              : "pass --on-error skip to leave such samples out and list them");
}

// The image work of a batch: none; by a worker, which may find no room for results; or by the
// thread that commits.
struct ImageWork {
  SampleTransformer* transformer = nullptr;
  ResultMemory* results = nullptr;
  bool may_fail = true;
  std::uint64_t largest_image = 0;  // that may be held, of a list that stays unread
};

const Schema& schema_as_read(const SourceInfo& source) {
  return source.transform ? source.transform->input() : source.schema;
}

// True if the fault leaves the sample out. Errors: Code::bad_content under OnError::fail.
bool is_left_out(const EncodedSample& encoded, std::uint64_t number, const SourceInfo& source,
                 OnError on_error) {
  if (encoded.fault.empty() || on_error == OnError::keep) return false;
  if (on_error == OnError::skip) return true;
  const std::size_t field = source.image_fields.empty() ? 0 : source.image_fields.front();
  const bool is_list = schema_as_read(source).fields[field].kind == Kind::list;
  const bool is_unknown = encoded.fault.code == ImageFaultCode::unknown_type;
  throw Error(Code::bad_content, "the {} {}",
              is_list      ? "list of images"
              : is_unknown ? "content"
                           : "image",
              encoded.fault.text)
      .for_sample(encoded.key, number)
      .hint(
          "pass --on-error skip to leave such samples out and list them, or --on-error keep to "
          "take them as "
          "they are");
}

// Of a sample whose images are all as they were.
ImageChanges all_kept(const Sample& sample, const Transform& transform) {
  std::uint64_t images = 0;
  for (const FieldTransform& field : transform.fields()) {
    const Value& value = sample.values[field.field];
    const auto* list = std::get_if<std::vector<Bytes>>(&value);
    if (!std::holds_alternative<std::monostate>(value))
      images += list != nullptr ? list->size() : 1;
  }
  ImageChanges changes = {};
  changes[static_cast<std::size_t>(ImageChange::kept)] = images;
  return changes;
}

struct TakenDigest {
  SampleDigest digest;
  std::optional<Hash128> head;  // where it is the hash that is wanted of an image
};

TakenDigest take_digest(const Sample& sample, const Schema& schema, const Encoding& encoding) {
  if (!encoding.hashed_field || !is_hashed_as_head(schema, *encoding.hashed_field))
    return {.digest = digest_of(sample, schema), .head = {}};
  const HeadedDigest headed = headed_digest_of(sample, schema);
  return {.digest = headed.digest, .head = headed.head};
}

// Nullopt if there is no room for the results of image work.
std::optional<EncodedSample> encode_sample(const Sample& sample, std::uint64_t number,
                                           const SourceInfo& source, const Encoding& encoding,
                                           const PendingSample* pending = nullptr,
                                           const ImageWork& work = {}) {
  EncodedSample encoded;
  encoded.key = sample.key;
  if (pending != nullptr) encoded.behind = pending->behind;
  if (pending != nullptr) encoded.unfit = pending->unfit;
  if (pending != nullptr && !pending->lacks.empty()) {
    encoded.fault = {
        pending->lacks_row ? ImageFaultCode::missing_row : ImageFaultCode::missing_partner,
        "has no " + pending->lacks};
    // There is nothing to keep.
    refuse_incomplete(*pending, number, encoding.on_error);
    return encoded;
  }
  if (pending != nullptr && !pending->damage.empty()) {
    encoded.fault = {ImageFaultCode::damaged_input, pending->damage};
    return encoded;
  }
  const std::vector<PendingFile> none;
  if (pending != nullptr && (!pending->files.empty() || !pending->bad_array.empty())) {
    encoded.fault = pending->bad_array.empty()
                        ? fault_of_texts(sample, schema_as_read(source))
                        : ImageFault{ImageFaultCode::not_array, pending->bad_array};
    // Bytes that are not text cannot be kept as text, nor other bytes as an array.
    if (!encoded.fault.empty() && encoding.on_error == OnError::skip) return encoded;
    if (!encoded.fault.empty())
      throw lacks_partner(encoded.fault.text, encoding.on_error).for_sample(sample.key, number);
  }
  if (!source.image_fields.empty())
    probe_images(sample, source, pending == nullptr ? none : pending->files,
                 {.largest = work.largest_image, .decodes = encoding.decodes_images}, encoded);
  const Schema& as_read = schema_as_read(source);
  if (!encoding.takes_bad_images && is_left_out(encoded, number, source, encoding.on_error)) {
    if (source.digest) encoded.read.add(digest_of(sample, as_read));
    return encoded;
  }
  check_sample(sample, as_read);
  TakenDigest taken = take_digest(sample, as_read, encoding);
  const Sample* written = &sample;
  std::optional<TransformedSample> made;
  if (source.transform && !encoded.fault.empty()) {
    encoded.changes = all_kept(sample, *source.transform);
  } else if (source.transform) {
    made = work.transformer->run(sample, number, *work.results, work.may_fail);
    if (!made) return std::nullopt;
    encoded.fault = made->fault;
    encoded.changes = made->fault.empty() ? made->changes : all_kept(sample, *source.transform);
    if (is_left_out(encoded, number, source, encoding.on_error)) {
      if (source.digest) encoded.read.add(taken.digest);
      return encoded;
    }
    written = &made->sample;
  }
  encoded.read.add(taken.digest);
  if (made) {
    check_sample(*written, source.schema);
    taken = take_digest(*written, source.schema, encoding);
  }
  Record record = encoding.format.encode(*written, source.schema, encoding.options);
  locate_elements(record, source.schema, encoding.format, encoding.layout);
  if (const auto field = encoding.hashed_field)
    encoded.image_hash = is_hashed_as_head(source.schema, *field)
                             ? taken.head
                             : image_hash_of(record, encoding.layout, *field);
  if (!encoding.layout.has_keys) taken.digest.keyed = {};
  record.digest.add(taken.digest);
  record.payload_bytes = payload_of(*written);
  encoded.record = std::move(record);
  return encoded;
}

// A run of rows whose stored form is the columns themselves.
EncodedSample encode_whole(const PendingSample& run, std::span<const Bytes> columns,
                           const SourceInfo& source) try {
  Record record;
  record.digest = digest_of_rows(columns, run.rows, source.schema);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    record.parts.emplace_back().append_view(columns[i]);
    if (is_located(source.schema.fields[i].kind)) record.payload_bytes += columns[i].size();
  }
  EncodedSample encoded;
  encoded.read = record.digest;
  encoded.record = std::move(record);
  encoded.unfit = run.unfit;
  return encoded;
} catch (Error& error) {
  const std::uint64_t row = error.sample() ? error.sample()->index.value_or(0) : 0;
  error.for_sample({}, run.first_number + row);
  throw;
}

// Where it is the first of several rows, its own count.
std::shared_ptr<const UnfitNumbers> unfit_of_row(const UnfitNumbers& run, std::uint64_t row) {
  const auto found =
      std::ranges::find(run.rows, row, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (found == run.rows.end()) return nullptr;
  return std::make_shared<UnfitNumbers>(UnfitNumbers{.count = found->second, .first = run.first});
}

void encode_rows(const PendingSample& run, std::span<const Bytes> columns, const SourceInfo& source,
                 const Encoding& encoding, std::vector<EncodedSample>& into) {
  const std::vector<Field>& fields = source.schema.fields;
  Sample sample;
  for (std::uint64_t row = 0; row < run.rows; ++row) {
    sample.key = std::to_string(run.first_number + row);
    sample.values.clear();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::uint64_t stride = columns[i].size() / run.rows;
      const Bytes stored = columns[i].subspan(row * stride, stride);
      if (fields[i].kind == Kind::tensor) {
        sample.values.emplace_back(stored);
        continue;
      }
      const IndexCell cell = read_number(stored, fields[i]);
      sample.values.push_back(fields[i].kind == Kind::integer ? Value(cell.integer)
                                                              : Value(cell.real));
    }
    into.push_back(encode_sample(sample, run.first_number + row, source, encoding).value());
    if (run.unfit) into.back().unfit = unfit_of_row(*run.unfit, row);
  }
}

// Of the sample of a batch that leaves large values unread. Its digest reads them, and so proves
// them, before anything is written.
EncodedSample encode_unread(Batch& batch, const SourceInfo& source, const Encoding& encoding,
                            BatchReader& reader, const std::function<void()>& step) {
  PendingSample& pending = batch.pending.front();
  const auto encoded = [&](const Sample& sample) {
    return encode_sample(sample, batch.first, source, encoding, &pending,
                         {.largest_image = batch.lease.bytes()})
        .value();
  };
  try {
    return encoded(load_unread(batch, source, reader, step));
  } catch (const Error& error) {
    if (source.on_damage != OnDamage::leave_out || error.code() != Code::damaged)
      throw with_way_out(error, source.on_damage);
    pending.damage = damage_text(error);
    return encoded({.key = pending.key, .values = {}});
  }
}

EncodedSample left_out_row(const PendingSample& row) {
  EncodedSample encoded;
  encoded.key = row.key;
  encoded.fault = {ImageFaultCode::damaged_input, row.damage};
  return encoded;
}

}  // namespace

void refuse_incomplete(const PendingSample& pending, std::uint64_t number, OnError on_error) {
  if (pending.lacks.empty() || on_error == OnError::skip) return;
  throw lacks_partner("has no " + pending.lacks, on_error).for_sample(pending.key, number);
}

bool is_hashed_as_head(const Schema& schema, std::size_t field) {
  return field == 0 && schema.fields.front().kind == Kind::bytes;
}

Hasher128 begin_image_hash(const Schema& schema, std::size_t field, std::uint64_t bytes) {
  return is_hashed_as_head(schema, field) ? begin_head(schema.fields.front(), bytes) : Hasher128();
}

std::optional<Hash128> image_hash_of(const Record& record, const ShardLayout& layout,
                                     std::size_t field) {
  const FieldPlace& place = record.row.cells[field].place;
  if (place.offset == kMissing) return std::nullopt;
  Hasher128 hasher;
  std::uint64_t begin = 0, hashed = 0;
  record.parts[layout.field_part[field]].for_each_part([&](const AnyBytes& bytes) {
    const std::uint64_t from = std::max(place.offset, begin),
                        to = std::min(place.offset + place.length, begin + bytes.size());
    if (from < to && bytes.unread() == nullptr) {
      hasher.update(bytes.held().subspan(from - begin, to - from));
      hashed += to - from;
    }
    begin += bytes.size();
  });
  if (hashed != place.length) return std::nullopt;
  return hasher.digest();
}

EncodedBatch encode_batch(Batch batch, const SourceInfo& source, const Encoding& encoding,
                          BatchReader& reader, SampleTransformer* transformer,
                          const std::function<void()>& step, std::vector<EncodedSample> reused) {
  EncodedBatch encoded;
  encoded.samples = std::move(reused);
  encoded.samples.clear();
  if (source.row_bytes) {
    const std::vector<std::vector<Bytes>> runs = load_runs(batch, source, reader);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!batch.pending[i].damage.empty()) {
        encoded.samples.push_back(left_out_row(batch.pending[i]));
      } else if (encoding.layout.rows.takes_runs()) {
        encoded.samples.push_back(encode_whole(batch.pending[i], runs[i], source));
      } else {
        encode_rows(batch.pending[i], runs[i], source, encoding, encoded.samples);
      }
    }
  } else if (batch.leaves_large) {
    encoded.samples.push_back(encode_unread(batch, source, encoding, reader, step));
  } else {
    std::vector<Sample> read;
    if (!batch.pending.empty()) read = load_batch(batch, source, reader);
    // Those of a stream stay with their batch, whose memory is used again.
    std::vector<Sample>& samples = batch.pending.empty() ? batch.held : read;
    encoded.samples.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::optional<EncodedSample> sample =
          encode_sample(samples[i], batch.first + i, source, encoding,
                        batch.pending.empty() ? nullptr : &batch.pending[i],
                        {.transformer = transformer, .results = &encoded.results});
      if (!sample) {
        encoded.left.assign(
            std::make_move_iterator(samples.begin() + static_cast<std::ptrdiff_t>(i)),
            std::make_move_iterator(samples.end()));
        break;
      }
      encoded.samples.push_back(std::move(*sample));
    }
  }
  encoded.batch = std::move(batch);
  return encoded;
}

void encode_left(EncodedBatch& encoded, const SourceInfo& source, const Encoding& encoding,
                 SampleTransformer& transformer,
                 const std::function<void(const EncodedSample&)>& commit) {
  const std::size_t done = encoded.samples.size();
  for (std::size_t i = 0; i < encoded.left.size(); ++i) {
    ResultMemory results;
    const std::size_t position = done + i;
    commit(encode_sample(encoded.left[i], encoded.batch.first + position, source, encoding,
                         encoded.batch.pending.empty() ? nullptr : &encoded.batch.pending[position],
                         {.transformer = &transformer, .results = &results, .may_fail = false})
               .value());
  }
}

}  // namespace shale
