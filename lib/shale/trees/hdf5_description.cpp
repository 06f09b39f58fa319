#include "shale/trees/hdf5_description.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/dtype.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/schema.hpp"

namespace shale {
namespace {

enum class Message : std::uint8_t {
  facts = 1,
  dataset = 2,
  chunks = 3,
  other = 4,
  demo = 5,
  samples = 6,
  large = 7
};

constexpr std::uint64_t kMostSides = 32;  // H5S_MAX_RANK
constexpr std::uint64_t kMostTexts = 1 << 16, kMostOthers = 64;
constexpr std::uint64_t kSpareBytes = 32 << 20;
constexpr std::uint64_t kMostBytes = ~std::uint64_t{0} >> 1;

void write_text(ByteWriter& out, std::string_view text) {
  out.write(static_cast<std::uint32_t>(text.size()));
  out.write_text(text);
}

std::string read_text(ByteReader& in) {
  const std::uint32_t length = in.read_u32();
  return std::string(as_text(in.read_bytes(length)));
}

void write_sides(ByteWriter& out, const std::vector<std::uint64_t>& sides) {
  out.write(static_cast<std::uint32_t>(sides.size()));
  for (const std::uint64_t side : sides) out.write(side);
}

std::uint32_t read_count(ByteReader& in, std::uint64_t most) {
  const std::uint32_t count = in.read_u32();
  if (count > most) throw Error(Code::damaged, "a list of {} where {} is the maximum", count, most);
  return count;
}

std::vector<std::uint64_t> read_sides(ByteReader& in) {
  std::vector<std::uint64_t> sides(read_count(in, kMostSides));
  for (std::uint64_t& side : sides) side = in.read_u64();
  return sides;
}

void write_texts(ByteWriter& out, const std::vector<std::string>& texts) {
  out.write(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) write_text(out, text);
}

std::vector<std::string> read_texts(ByteReader& in) {
  std::vector<std::string> texts;
  for (std::uint32_t left = read_count(in, kMostTexts); left > 0; --left)
    texts.push_back(read_text(in));
  return texts;
}

void write_attributes(ByteWriter& out, const std::vector<NamedText>& attributes) {
  out.write(static_cast<std::uint32_t>(attributes.size()));
  for (const auto& [name, text] : attributes) {
    write_text(out, name);
    write_text(out, text);
  }
}

std::vector<NamedText> read_attributes(ByteReader& in) {
  std::vector<NamedText> attributes;
  for (std::uint32_t left = read_count(in, kMostTexts); left > 0; --left) {
    std::string name = read_text(in);
    attributes.push_back({std::move(name), read_text(in)});
  }
  return attributes;
}

// Of any byte order; nullopt for what is not a dtype.
std::optional<std::uint64_t> item_bytes_of(std::string descr) {
  if (descr.starts_with('>')) descr[0] = '<';
  try {
    return DType::parse(descr).item_bytes();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Whether the dtype says how long an element is, and nothing else does.
bool has_sound_type(const Hdf5Dataset& dataset, const Hdf5Description& facts) {
  if (dataset.type == Hdf5Type::other) return true;
  const std::optional<std::uint64_t> item = item_bytes_of(dataset.descr);
  const bool is_sequence = dataset.type == Hdf5Type::vlen_numbers;
  if (!dataset.has_variable_length()) {
    std::uint64_t bytes = item.value_or(0);
    for (const std::uint64_t side : dataset.element_shape) {
      if (side == 0 || bytes > kMostBytes / side) return false;
      bytes *= side;
    }
    return bytes == dataset.element_bytes;
  }
  return dataset.element_bytes == std::uint64_t{8} + facts.address_bytes &&
         (!is_sequence || item.value_or(0) > 0);
}

// The product. Errors: Code::limit if it does not fit in 63 bits.
std::uint64_t product_of(std::uint64_t left, std::uint64_t right, std::string_view name) {
  if (left != 0 && right > kMostBytes / left) {
    throw Error(Code::limit, "dataset '{}' claims more than 2^63 bytes", printable(name));
  }
  return left * right;
}

}  // namespace

const Hdf5ChunkRun* Hdf5Rows::run_of(std::uint64_t row) {
  if (dataset_->runs.empty()) return nullptr;
  const std::uint64_t chunk = row / per_chunk_;
  const auto holds = [&](const Hdf5ChunkRun& run) {
    return chunk >= run.first && chunk - run.first < run.count;
  };
  if (holds(dataset_->runs[last_run_])) return &dataset_->runs[last_run_];
  const auto behind = std::upper_bound(
      dataset_->runs.begin(), dataset_->runs.end(), chunk,
      [](std::uint64_t number, const Hdf5ChunkRun& run) { return number < run.first; });
  if (behind == dataset_->runs.begin() || !holds(*(behind - 1))) return nullptr;
  last_run_ = static_cast<std::size_t>(behind - 1 - dataset_->runs.begin());
  return &dataset_->runs[last_run_];
}

std::optional<std::uint64_t> Hdf5Rows::locate(std::uint64_t first, std::uint64_t rows) {
  const Hdf5ChunkRun* run = run_of(first);
  if (run == nullptr) return std::nullopt;
  const std::uint64_t last_chunk = (first + rows - 1) / per_chunk_;
  if (last_chunk - run->first >= run->count) return std::nullopt;
  return run->address + (first - run->first * per_chunk_) * row_bytes_;
}

Bytes Hdf5Rows::bytes(std::uint64_t row) { return window_.view(*locate(row), row_bytes_); }

std::uint64_t Hdf5Rows::element(std::uint64_t row) {
  const Bytes stored = bytes(row);
  std::uint64_t value = 0;
  const std::size_t size = std::min(stored.size(), sizeof value);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = dataset_->descr[0] == '>' ? i : size - 1 - i;
    value = value << 8 | std::to_integer<std::uint64_t>(stored[at]);
  }
  return value;
}

std::int64_t Hdf5Rows::integer(std::uint64_t row) {
  const std::uint64_t value = element(row);
  const auto unused_bits = static_cast<int>(64 - 8 * row_bytes_);
  if (dataset_->descr[1] == 'u') return static_cast<std::int64_t>(value);
  // Up and down again: the sign comes along.
  return static_cast<std::int64_t>(value << unused_bits) >> unused_bits;
}

IndexCell Hdf5Rows::number(std::uint64_t row, const Field& field) {
  const std::uint64_t value = element(row);
  const auto little = bytes_of(value);
  return read_number(Bytes(little).first(row_bytes_), field);
}

std::string Hdf5Dataset::path() const {
  return member.empty() ? name : name.substr(0, name.size() - member.size() - 1);
}

std::string Hdf5Dataset::field_name() const {
  return member.empty() && is_at_root() ? name : field_name_of(name);
}

bool Hdf5Dataset::has_to_be_turned() const {
  if (!descr.starts_with('>')) return false;
  if (shape.size() > 1 || !element_shape.empty() || type == Hdf5Type::vlen_numbers) return true;
  // One number per sample, which is turned as it is read, unless none of the kinds of numbers holds
  // it.
  const Field field = field_of_column(name, DType::parse("<" + descr.substr(1)), {});
  return is_located(field.kind);
}

std::vector<std::uint64_t> Hdf5Dataset::all_sides() const {
  std::vector<std::uint64_t> all = sides();
  all.insert(all.end(), element_shape.begin(), element_shape.end());
  return all;
}

std::uint64_t Hdf5Dataset::sequence_item_bytes() const {
  return type == Hdf5Type::vlen_numbers ? item_bytes_of(descr).value() : 1;
}

bool Hdf5Dataset::has_whole_rows() const {
  if (!member.empty() || axis != 0) return false;
  if (storage == Hdf5Storage::contiguous || storage == Hdf5Storage::absent) return true;
  return storage == Hdf5Storage::chunked && filters.empty() &&
         std::equal(chunk.begin() + 1, chunk.end(), shape.begin() + 1, shape.end());
}

std::uint64_t Hdf5Dataset::row_bytes() const {
  const std::vector<std::uint64_t> all = sides();
  // One side of no length leaves nothing, however long the others are.
  if (std::find(all.begin() + 1, all.end(), std::uint64_t{0}) != all.end()) return 0;
  std::uint64_t bytes = element_bytes;
  for (std::size_t i = 1; i < all.size(); ++i) bytes = product_of(bytes, all[i], name);
  return bytes;
}

std::vector<std::byte> encode_facts(const Hdf5Description& description) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::facts));
  out.write(description.base_address);
  out.write(description.address_bytes);
  out.write(description.length_bytes);
  write_attributes(out, description.attributes);
  return out.take();
}

std::vector<std::byte> encode_dataset(const Hdf5Dataset& dataset) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::dataset));
  write_text(out, dataset.name);
  write_text(out, dataset.member);
  out.write(static_cast<std::uint8_t>(dataset.type));
  write_text(out, dataset.descr);
  write_text(out, dataset.type_name);
  out.write(static_cast<std::uint32_t>(dataset.names.size()));
  for (const auto& [number, name] : dataset.names) {
    out.write(number);
    write_text(out, name);
  }
  out.write(dataset.element_bytes);
  out.write(dataset.record_bytes);
  out.write(dataset.stored_bytes);
  out.write(static_cast<std::uint8_t>(dataset.has_shape ? 1 : 0));
  write_sides(out, dataset.shape);
  write_sides(out, dataset.element_shape);
  out.write(static_cast<std::uint8_t>(dataset.storage));
  write_texts(out, dataset.sources);
  write_attributes(out, dataset.attributes);
  write_texts(out, dataset.filters);
  write_sides(out, dataset.chunk);
  return out.take();
}

std::vector<std::byte> encode_other(const std::string& what) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::other));
  write_text(out, what);
  return out.take();
}

Error too_many_hdf5_objects(std::size_t most, std::string_view where) {
  return Error(Code::unsupported, "more than {} objects {} of an HDF5 file", most, where)
      .hint(
          "'shale convert' reads a group or a dataset per sample with --parse samples; else store "
          "one dataset per field, with the samples as its first dimension");
}

Error hdf5_dataset_changed(std::string_view name) {
  return Error(Code::mismatch, "dataset '{}' changed while it was being read", printable(name))
      .hint("wait until nothing writes to the file, then convert it again");
}

std::optional<std::uint64_t> number_of_demo(std::string_view name) {
  constexpr std::string_view kPrefix = "demo_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size() &&
                         number <= kMostBytes;  // it is in the index as an int64
  return is_number ? std::optional(number) : std::nullopt;
}

std::vector<std::byte> encode_demo(const Hdf5Demo& demo) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::demo));
  write_text(out, demo.name);
  out.write(static_cast<std::uint8_t>(demo.samples ? 1 : 0));
  out.write(demo.samples.value_or(0));
  return out.take();
}

std::vector<std::byte> encode_sample_place(const Hdf5SamplePlace& place) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::samples));
  out.write(static_cast<std::uint8_t>(place.is_clear ? 1 : 0));
  out.write(static_cast<std::uint8_t>(place.is_file ? 1 : 0));
  out.write(place.count);
  write_text(out, place.parent);
  return out.take();
}

std::vector<std::byte> encode_large_root() {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::large));
  return out.take();
}

std::vector<std::byte> encode_chunks(const std::vector<Hdf5ChunkAt>& chunks) {
  ByteWriter out;
  out.write(static_cast<std::uint8_t>(Message::chunks));
  for (const Hdf5ChunkAt& at : chunks) {
    out.write(at.chunk);
    out.write(at.address);
  }
  return out.take();
}

void Hdf5DescriptionReader::keep(std::uint64_t bytes) {
  kept_bytes_ += bytes;
  if (kept_bytes_ > file_bytes_ + kSpareBytes) {
    throw Error(Code::limit, "the HDF5 library's description of this file takes more than {}",
                format_size(file_bytes_ + kSpareBytes));
  }
}

void Hdf5DescriptionReader::take(Bytes message) {
  ByteReader in(message, "the description of an HDF5 file");
  const auto kind = static_cast<Message>(in.read_u8());
  if (has_facts_ == (kind == Message::facts)) {
    throw Error(Code::damaged, "a description of an HDF5 file that is out of order");
  }
  switch (kind) {
    case Message::facts:
      description_.base_address = in.read_u64();
      description_.address_bytes = in.read_u8();
      description_.length_bytes = in.read_u8();
      description_.attributes = read_attributes(in);
      if (description_.base_address > file_bytes_) {
        throw Error(Code::damaged, "HDF5 addresses count from byte {}, but the file has {}",
                    description_.base_address, file_bytes_);
      }
      has_facts_ = true;
      return;
    case Message::dataset:
      keep(message.size() + (description_.demos.empty() ? 0 : sizeof(Hdf5Dataset)));
      return take_dataset(in);
    case Message::chunks:
      if (datasets().empty()) break;
      while (!in.at_end()) {
        const std::uint64_t chunk = in.read_u64();
        take_chunk(datasets().back(), {chunk, in.read_u64()});
      }
      return;
    case Message::other:
      return take_other(in);
    case Message::demo:
      keep(message.size() + sizeof(Hdf5Demo));
      return take_demo(in);
    case Message::samples: {
      const bool is_clear = in.read_u8() != 0, is_file = in.read_u8() != 0;
      const std::uint64_t count = in.read_u64();
      description_.samples = Hdf5SamplePlace{read_text(in), is_clear, count, is_file};
      return;
    }
    case Message::large:
      description_.is_large = true;
      return;
  }
  throw Error(Code::damaged, "a description of an HDF5 file with a message of kind {}",
              static_cast<unsigned>(kind));
}

void Hdf5DescriptionReader::take_other(ByteReader& in) {
  const bool is_of_demo = !description_.demos.empty();
  std::vector<std::string>& others = is_of_demo ? description_.demo_others : description_.others;
  if (!is_of_demo) ++description_.other_count;
  if (others.size() == kMostOthers) return;
  keep(in.remaining());
  others.push_back(read_text(in));
}

void Hdf5DescriptionReader::take_demo(ByteReader& in) {
  Hdf5Demo demo;
  demo.name = read_text(in);
  const bool has_samples = in.read_u8() != 0;
  const std::uint64_t samples = in.read_u64();
  if (has_samples) demo.samples = samples;
  const std::optional<std::uint64_t> number = number_of_demo(demo.name);
  demo.number = number.value_or(0);
  const std::vector<Hdf5Demo>& before = description_.demos;
  const bool is_next = before.empty() || std::pair(before.back().number, before.back().name) <
                                             std::pair(demo.number, demo.name);
  if (!number || !is_next) {
    throw Error(Code::damaged, "group 'data/{}' has an invalid description", printable(demo.name));
  }
  description_.demos.push_back(std::move(demo));
}

void Hdf5DescriptionReader::take_dataset(ByteReader& in) {
  Hdf5Dataset dataset;
  dataset.name = read_text(in);
  dataset.member = read_text(in);
  const std::uint8_t type = in.read_u8();
  dataset.descr = read_text(in);
  dataset.type_name = read_text(in);
  for (std::uint32_t left = read_count(in, kMostTexts); left > 0; --left) {
    const auto number = static_cast<std::int64_t>(in.read_u64());
    dataset.names.emplace_back(number, read_text(in));
  }
  dataset.element_bytes = in.read_u64();
  dataset.record_bytes = in.read_u64();
  dataset.stored_bytes = in.read_u64();
  dataset.has_shape = in.read_u8() != 0;
  dataset.shape = read_sides(in);
  dataset.element_shape = read_sides(in);
  const std::uint8_t storage = in.read_u8();
  dataset.sources = read_texts(in);
  dataset.attributes = read_attributes(in);
  dataset.filters = read_texts(in);
  dataset.chunk = read_sides(in);
  dataset.type = static_cast<Hdf5Type>(type);
  dataset.storage = static_cast<Hdf5Storage>(storage);
  const bool is_chunked = dataset.storage == Hdf5Storage::chunked;
  const bool is_referred = dataset.storage == Hdf5Storage::referred;
  const bool is_sound =
      (!is_referred || (dataset.has_variable_length() && dataset.shape.size() == 1)) &&
      type <= static_cast<std::uint8_t>(Hdf5Type::other) &&
      storage <= static_cast<std::uint8_t>(Hdf5Storage::referred) && dataset.element_bytes > 0 &&
      dataset.element_bytes <= kMostBytes && (dataset.has_shape || dataset.shape.empty()) &&
      (!is_chunked || (!dataset.chunk.empty() && dataset.chunk.size() == dataset.shape.size())) &&
      std::find(dataset.chunk.begin(), dataset.chunk.end(), std::uint64_t{0}) ==
          dataset.chunk.end() &&
      has_sound_type(dataset, description_) &&
      (dataset.member.empty() || dataset.name.ends_with("." + dataset.member)) &&
      (!description_.demos.empty() || datasets().empty() ||
       datasets().back().path() < dataset.path() ||
       (datasets().back().path() == dataset.path() && !dataset.member.empty()));
  if (!is_sound) {
    throw Error(Code::damaged, "dataset '{}' has an invalid description", printable(dataset.name));
  }
  datasets().push_back(std::move(dataset));
}

void Hdf5DescriptionReader::take_chunk(Hdf5Dataset& dataset, Hdf5ChunkAt at) {
  const bool has_runs = dataset.storage == Hdf5Storage::contiguous ||
                        (dataset.storage == Hdf5Storage::chunked && dataset.has_whole_rows());
  if (!has_runs || dataset.shape.empty()) {
    throw Error(Code::damaged, "dataset '{}' has chunks, but is not chunked",
                printable(dataset.name));
  }
  const std::uint64_t rows = dataset.rows_per_chunk();
  const std::uint64_t bytes = product_of(rows, dataset.row_bytes(), dataset.name);
  if (at.address > file_bytes_ || bytes > file_bytes_ - at.address) {
    throw Error(Code::damaged, "dataset '{}' has {} bytes at byte {}, but the file ends at {}",
                printable(dataset.name), bytes, at.address, file_bytes_)
        .hint("the file was probably truncated; copy it again");
  }
  const bool is_inside = rows > 0 && at.chunk <= (dataset.shape[0] - 1) / rows;
  const std::uint64_t free_from =
      dataset.runs.empty() ? 0 : dataset.runs.back().first + dataset.runs.back().count;
  if (dataset.shape[0] == 0 || !is_inside || at.chunk < free_from) {
    throw Error(Code::damaged, "dataset '{}' has a chunk {} that does not belong to it",
                printable(dataset.name), at.chunk);
  }
  if (!dataset.runs.empty()) {
    Hdf5ChunkRun& last = dataset.runs.back();
    if (at.chunk == free_from && at.address == last.address + last.count * bytes) {
      ++last.count;
      return;
    }
  }
  keep(sizeof(Hdf5ChunkRun));
  dataset.runs.push_back({at.chunk, at.address, 1});
}

Hdf5Description Hdf5DescriptionReader::finish() {
  if (!has_facts_) throw Error(Code::damaged, "a description of an HDF5 file that is empty");
  return std::move(description_);
}

}  // namespace shale
