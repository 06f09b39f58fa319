#include "formats/hdf5/foreign/hdf5_sample_walk.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/trees/hdf5_description.hpp"

#include "formats/hdf5/foreign/hdf5_annotations.hpp"
#include "formats/hdf5/foreign/hdf5_filters.hpp"
#include "formats/hdf5/foreign/hdf5_sequences.hpp"
#include "formats/hdf5/foreign/hdf5_whole_chunks.hpp"
#include "formats/hdf5/hdf5_library.hpp"
#include "formats/hdf5/hdf5_library_types.hpp"
#include "formats/hdf5/hdf5_tracking_driver.hpp"

namespace shale {
namespace {

using Form = Hdf5SampleValue::Form;

using SampleMessage = Hdf5SampleMessage;

constexpr std::size_t kMostBytesOfAPath = 4096;
constexpr int kMostDepthOfASample = 8, kMostDepthOfSamples = 4;
constexpr std::size_t kPieceBytes = 512 * 1024;
constexpr std::uint64_t kSlowestSampleBytes = 200'000;  // a second; of groups of small values
// How many of the first objects say what a file is like.
constexpr std::size_t kLooked = 64, kManyGroups = 8;
constexpr std::string_view kNamesOfSplits[] = {"train",      "training", "val",    "valid",
                                               "validation", "test",     "testing"};

Hdf5Handle open_object(hid_t parent, const std::string& name) {
  return open_hdf5_object(parent, name, name);
}

// The first `most`, in the natural order of their names.
std::vector<std::string> names_below(hid_t group, std::size_t most, bool takes_damaged = false) {
  std::vector<std::string> names = hdf5_names_in(group, most, takes_damaged);
  std::sort(names.begin(), names.end(), is_naturally_less);
  return names;
}

bool has_digit(std::string_view name) {
  return std::ranges::any_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// ---- what a dataset or an attribute is

struct ValueShape {
  std::vector<std::uint64_t> sides;
  bool is_null = false;
  std::uint64_t elements = 1;
};

ValueShape shape_in(const Hdf5Handle& space) {
  ValueShape shape;
  shape.is_null = !space.is_valid() || H5Sget_simple_extent_type(space.id()) == H5S_NULL;
  if (shape.is_null) return shape;
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Sget_simple_extent_dims(space.id(), sides.data(), nullptr);
  if (rank < 0) throw hdf5_failure("the HDF5 library cannot read the shape of a value");
  shape.sides.assign(sides.begin(), sides.begin() + rank);
  for (const std::uint64_t side : shape.sides) {
    if (side != 0 && shape.elements > (~std::uint64_t{0} >> 1) / side)
      throw Error(Code::limit, "a value claims more than 2^63 elements");
    shape.elements *= side;
  }
  return shape;
}

// Form, descr and shape; `kind` says more where the elements are to be read.
Hdf5SampleValue value_of(const std::string& path, const Hdf5Dataset& kind, const ValueShape& shape,
                         bool is_here) {
  Hdf5SampleValue value{.path = path,
                        .form = Form::other,
                        .descr = kind.descr,
                        .type_name = kind.type_name,
                        .shape = shape.sides};
  value.shape.insert(value.shape.end(), kind.element_shape.begin(), kind.element_shape.end());
  if (value.descr.starts_with('>')) value.descr[0] = '<';
  if (!is_here || shape.is_null) {
    value.type_name = shape.is_null ? "nothing" : "values that lie in other files";
    return value;
  }
  switch (kind.type) {
    case Hdf5Type::number:
      value.form = Form::number;
      value.bytes = shape.elements * kind.element_bytes;
      break;
    case Hdf5Type::fixed_text:
    case Hdf5Type::vlen_text:
      if (!kind.element_shape.empty()) {
        value.type_name = "arrays of strings of one length";
        break;
      }
      value.form = shape.sides.empty() ? Form::text : Form::texts;
      value.descr.clear();
      break;
    case Hdf5Type::vlen_bytes:
    case Hdf5Type::vlen_numbers:
      if (kind.type == Hdf5Type::vlen_bytes) value.descr = "|u1";
      if (shape.sides.empty()) value.form = Form::sequence;
      if (!shape.sides.empty()) value.type_name = "several sequences";
      break;
    case Hdf5Type::other:
      break;
  }
  return value;
}

Error bad_value(std::string_view path, std::string_view fact) {
  return Error(Code::damaged, "value '{}': {}", printable(path), fact);
}

// What H5Dread and H5Aread have in common.
using ReadAll = std::function<bool(hid_t memory_type, void* into)>;

class ValueReader {
 public:
  ValueReader(const Hdf5SampleWalk& walk, Hdf5Sequences& sequences, Hdf5SampleValue& value,
              const Hdf5Dataset& kind, const Hdf5Handle& type, std::uint64_t elements, ReadAll read)
      : walk_(walk),
        sequences_(sequences),
        value_(value),
        kind_(kind),
        type_(type),
        elements_(elements),
        read_(std::move(read)) {}

  void run() {
    const bool is_text = value_.form == Form::text || value_.form == Form::texts;
    if (value_.form == Form::number) {
      check_size(value_.bytes);
      // Of a file that may be damaged, reading is what proves it.
      if (!walk_.reads_values && !walk_.lose) return;
      value_.data.resize(value_.bytes);
      if (value_.bytes > 0) read(little_endian().id(), value_.data.data());
      if (!walk_.reads_values) value_.data.clear();
    } else if (value_.form == Form::sequence) {
      read_sequence();
    } else if (is_text) {
      kind_.type == Hdf5Type::fixed_text ? read_padded() : read_strings();
      value_.bytes = value_.data.size();
      if (!walk_.reads_values) value_.data.clear();
    }
  }

 private:
  void check_size(std::uint64_t bytes) const {
    if (bytes <= walk_.most_bytes) return;
    throw Error(Code::limit, "'{}' of a sample has {}, more than the {} that the memory is for",
                printable(value_.path), format_size(bytes), format_size(walk_.most_bytes))
        .hint("pass a larger --memory");
  }

  void read(hid_t memory_type, void* into) const {
    if (!read_(memory_type, into))
      throw hdf5_failure(
          fmt::format("the HDF5 library cannot read the values of '{}'", printable(value_.path)));
  }

  [[nodiscard]] Hdf5Handle little_endian() const {
    Hdf5Handle memory(
        kind_.descr.starts_with('>') ? little_endian_hdf5_type(type_.id()) : H5Tcopy(type_.id()),
        H5Tclose);
    if (!memory.is_valid()) throw hdf5_failure("the byte order of numbers cannot be converted");
    return memory;
  }

  void read_sequence() {
    std::vector<std::byte> value = sequence(references());
    value_.bytes = value.size();
    value_.shape = {value.size() / kind_.sequence_item_bytes()};
    if (walk_.reads_values) value_.data = std::move(value);
  }

  [[nodiscard]] std::vector<std::byte> references() const {
    check_size(elements_ * Hdf5Sequences::kReferenceBytes);
    std::vector<std::byte> stored(elements_ * Hdf5Sequences::kReferenceBytes);
    const Hdf5Handle type(Hdf5Sequences::type_of_references(), H5Tclose);
    if (!stored.empty()) read(type.id(), stored.data());
    return stored;
  }

  [[nodiscard]] std::vector<std::byte> sequence(Bytes reference) const {
    try {
      return sequences_.at(reference, kind_, walk_.most_bytes);
    } catch (const Error& error) {
      if (error.code() == Code::limit) check_size(walk_.most_bytes + 1);
      if (error.code() != Code::damaged) throw;
      throw bad_value(value_.path, error.message()).at(error.file(), error.offset());
    }
  }

  void add_string(std::string_view text) {
    value_.is_utf8 = value_.is_utf8 && is_utf8(text);
    ByteWriter out;
    if (value_.form == Form::texts) out.write(static_cast<std::uint32_t>(text.size()));
    out.write_text(text);
    value_.data.insert(value_.data.end(), out.bytes().begin(), out.bytes().end());
    check_size(value_.data.size());
  }

  void read_padded() {
    check_size(elements_ * kind_.element_bytes);
    std::vector<char> padded(elements_ * kind_.element_bytes);
    if (!padded.empty()) read(type_.id(), padded.data());
    const bool is_spaces = H5Tget_strpad(type_.id()) == H5T_STR_SPACEPAD;
    for (std::uint64_t i = 0; i < elements_; ++i) {
      std::string_view text(padded.data() + i * kind_.element_bytes, kind_.element_bytes);
      const std::size_t end = text.find_last_not_of(is_spaces ? ' ' : '\0');
      add_string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
    }
  }

  void read_strings() {
    const std::vector<std::byte> stored = references();
    for (std::uint64_t i = 0; i < elements_; ++i) {
      const Bytes reference =
          Bytes(stored).subspan(i * Hdf5Sequences::kReferenceBytes, Hdf5Sequences::kReferenceBytes);
      const std::vector<std::byte> text = sequence(reference);
      add_string(as_text(text));
    }
  }

  const Hdf5SampleWalk& walk_;
  Hdf5Sequences& sequences_;
  Hdf5SampleValue& value_;
  const Hdf5Dataset& kind_;
  const Hdf5Handle& type_;
  std::uint64_t elements_;
  ReadAll read_;
};

class SampleSender {
 public:
  SampleSender(const InputFile& from, Hdf5TrackedFile& file, const Hdf5SampleWalk& walk,
               const SendMessage& send)
      : from_(from),
        file_(file),
        walk_(walk),
        send_(send),
        sequences_(from, file.id(), walk.lose != nullptr) {}

  void run() {
    const Hdf5Handle parent = open_object(file_.id(), walk_.parent);
    if (!walk_.file.empty()) return send_sample(parent, walk_.file);
    const bool takes_damaged = walk_.lose != nullptr;
    const std::vector<std::string> names = names_below(parent.id(), ~std::size_t{0}, takes_damaged);
    H5G_info_t info{};
    const bool are_all =
        !takes_damaged || (H5Gget_info(parent.id(), &info) >= 0 && info.nlinks == names.size());
    for (const std::string& name : names) {
      if (!is_hdf5_hard_link(parent.id(), name)) {
        send_text(SampleMessage::other, fmt::format("link '{}'", printable(name)));
        continue;
      }
      try {
        send_sample(open_object(parent.id(), name), name);
      } catch (Error& error) {
        if (takes_damaged && error.code() == Code::damaged &&
            file_.reason_of(error).code() != Code::io) {
          send_lost(name, error.message() + (error.cause().empty() ? "" : ": " + error.cause()));
          continue;
        }
        error.for_sample(name);
        throw;
      }
    }
    if (!are_all) send_lost("others", "the list of the groups is damaged");
  }

 private:
  void send_lost(const std::string& name, const std::string& why) {
    ByteWriter out;
    out.write(static_cast<std::uint8_t>(SampleMessage::lost));
    out.write(static_cast<std::uint32_t>(name.size()));
    out.write_text(name);
    out.write_text(why);
    send_(out.bytes());
  }

  void send_sample(const Hdf5Handle& object, const std::string& name) {
    const H5I_type_t type = H5Iget_type(object.id());
    if (type != H5I_GROUP && type != H5I_DATASET) {
      send_text(SampleMessage::other, fmt::format("named type '{}'", printable(name)));
      return;
    }
    if (walk_.lose) check_header(object.id(), "its group");
    send_text(SampleMessage::sample, name);
    objects_ = 0;
    paths_.clear();
    if (type == H5I_DATASET) return send_dataset(object.id(), "");
    send_group(object.id(), "", kMostDepthOfASample);
    if (walk_.takes_attributes) send_attributes(object.id());
  }

  void send_group(hid_t group, const std::string& prefix, int depth_left) {
    const std::vector<std::string> names =
        names_below(group, kMostObjectsOfASample + 1, walk_.lose != nullptr);
    if (walk_.lose) check_names(group, names);
    for (const std::string& name : names) {
      const std::string path = prefix + name;
      count_object(path);
      if (!is_hdf5_hard_link(group, name)) {
        send_text(SampleMessage::other, fmt::format("link '{}'", printable(path)));
        continue;
      }
      const Hdf5Handle object = open_object(group, name);
      const H5I_type_t type = H5Iget_type(object.id());
      if (type == H5I_DATASET) {
        send_dataset(object.id(), path);
      } else if (type == H5I_GROUP && depth_left > 0) {
        if (walk_.lose) check_header(object.id(), path);
        send_group(object.id(), path + "/", depth_left - 1);
      } else if (type != H5I_GROUP && walk_.lose) {
        throw Error(Code::damaged, "'{}' is neither a group nor a dataset", printable(path));
      } else {
        send_text(
            SampleMessage::other,
            fmt::format("{} '{}'", type == H5I_GROUP ? "group" : "named type", printable(path)));
      }
    }
  }

  void count_object(std::string_view path) {
    if (++objects_ <= kMostObjectsOfASample && path.size() <= kMostBytesOfAPath) return;
    throw Error(Code::limit, "a sample of more than {} objects, or of paths of more than {}",
                kMostObjectsOfASample, format_size(kMostBytesOfAPath));
  }

  void send_dataset(hid_t set, const std::string& path) {
    paths_.insert(path);
    if (walk_.wants && !walk_.wants(path)) return;
    const Hdf5Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
    const bool is_here = hdf5_lies_here(set);
    if (is_here) {
      const Hdf5Handle layout(H5Dget_create_plist(set), H5Pclose);
      check_hdf5_filters(layout.id(), path);
      const Hdf5Dataset stored = stored_dataset(set, path, type, space, layout);
      check_header(set, path);
      walk_.lose ? check_whole(set, stored) : check_hdf5_chunk_index(file_, set, stored);
    }
    send_value(path, type, space, is_here, [&](hid_t memory, void* into) {
      return H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, into) >= 0;
    });
  }

  // Of a file that may be damaged, what a group lacks is not taken for absent.
  void check_names(hid_t group, const std::vector<std::string>& names) const {
    H5G_info_t info{};
    bool are_whole = H5Gget_info(group, &info) >= 0 && info.nlinks == names.size();
    for (const std::string& name : names) {
      H5L_info_t link{};
      const bool is_read = H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) >= 0;
      const bool leads = is_read && (link.type != H5L_TYPE_SOFT ||
                                     H5Oexists_by_name(group, name.c_str(), H5P_DEFAULT) > 0);
      are_whole = are_whole && leads;
    }
    if (!are_whole) throw Error(Code::damaged, "a list of objects is damaged");
  }

  void check_header(hid_t object, const std::string& path) const {
    if (has_whole_hdf5_header(from_, sequences_.base_address(), object)) return;
    throw Error(Code::damaged, "the header of '{}' is damaged", printable(path));
  }

  static Hdf5Dataset stored_dataset(hid_t set, const std::string& path, const Hdf5Handle& type,
                                    const Hdf5Handle& space, const Hdf5Handle& layout) {
    Hdf5Dataset dataset;
    dataset.name = path;
    describe_hdf5_type(type.id(), sizeof(std::uint64_t), dataset);
    dataset.shape = shape_in(space).sides;
    const H5D_layout_t kind = H5Pget_layout(layout.id());
    const bool is_written = kind != H5D_CONTIGUOUS || H5Dget_storage_size(set) != 0;
    if (kind == H5D_CONTIGUOUS && is_written) dataset.storage = Hdf5Storage::contiguous;
    if (kind == H5D_CHUNKED) {
      dataset.storage = Hdf5Storage::chunked;
      dataset.chunk.resize(dataset.shape.size());
      if (H5Pget_chunk(layout.id(), static_cast<int>(dataset.chunk.size()),
                       reinterpret_cast<hsize_t*>(dataset.chunk.data())) < 0 ||
          std::ranges::find(dataset.chunk, std::uint64_t{0}) != dataset.chunk.end())
        throw hdf5_failure("the HDF5 library cannot read the size of chunks");
    }
    return dataset;
  }

  void check_whole(hid_t set, const Hdf5Dataset& dataset) {
    const Hdf5WholeChunks whole(file_, set, dataset);
    const bool has_rows =
        dataset.shape.empty() || dataset.shape[0] == 0 || whole.has_rows(0, dataset.shape[0]);
    if (whole.fault().empty() && has_rows) return;
    throw bad_value(dataset.name, whole.fault().empty() ? kNotInIndex : whole.fault());
  }

  void send_attributes(hid_t group) {
    for (const std::string& name : hdf5_attributes_of(group, kMostObjectsOfASample + 1)) {
      count_object(name);
      if (paths_.contains(name) || (walk_.wants && !walk_.wants(name))) continue;
      const Hdf5Handle attribute(H5Aopen(group, name.c_str(), H5P_DEFAULT), H5Aclose);
      const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose),
          space(H5Aget_space(attribute.id()), H5Sclose);
      send_value(name, type, space, true, [&](hid_t memory, void* into) {
        return H5Aread(attribute.id(), memory, into) >= 0;
      });
    }
  }

  void send_value(const std::string& path, const Hdf5Handle& type, const Hdf5Handle& space,
                  bool is_here, ReadAll read) {
    if (!type.is_valid() || !space.is_valid())
      throw hdf5_failure(fmt::format("the HDF5 library cannot read '{}'", printable(path)));
    Hdf5Dataset kind;
    describe_hdf5_type(type.id(), sizeof(std::uint64_t), kind);
    const ValueShape shape = is_here ? shape_in(space) : ValueShape{};
    if (kind.has_variable_length() && !sequences_.can_read()) {
      kind.type = Hdf5Type::other;
      kind.type_name = "values behind addresses of unusual length";
    }
    Hdf5SampleValue value = value_of(path, kind, shape, is_here);
    ValueReader(walk_, sequences_, value, kind, type, shape.elements, std::move(read)).run();
    send_(encode_sample_value(value));
    for (Bytes left(value.data); !left.empty();) {
      const Bytes piece = left.first(std::min(left.size(), kPieceBytes));
      ByteWriter bytes;
      bytes.write(static_cast<std::uint8_t>(SampleMessage::bytes));
      bytes.write_bytes(piece);
      send_(bytes.bytes());
      left = left.subspan(piece.size());
    }
  }

  void send_text(SampleMessage kind, const std::string& text) {
    ByteWriter out;
    out.write(static_cast<std::uint8_t>(kind));
    out.write_text(text);
    send_(out.bytes());
  }

  const InputFile& from_;
  Hdf5TrackedFile& file_;
  const Hdf5SampleWalk& walk_;
  const SendMessage& send_;
  Hdf5Sequences sequences_;
  std::size_t objects_ = 0;
  std::set<std::string> paths_;  // of the sample at hand
};

// ---- where samples are

// A group as the first of its objects show it.
struct LookedGroup {
  std::vector<std::string> groups, alone;  // groups with datasets; with groups and nothing else
  std::size_t arrays = 0, others = 0;      // datasets of rows; anything else
  std::set<std::string> kinds;             // type and rank of those
  bool have_numbers = true;                // in their names
  std::vector<std::set<std::string>> signatures;  // of `groups`: path, type and rank of each
};

// Of a file that may be damaged, objects that cannot be read count for nothing.
bool is_lost(hid_t group, const std::string& name, bool takes_damaged) {
  return takes_damaged &&
         !Hdf5Handle(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose).is_valid();
}

void sign(hid_t group, const std::string& prefix, int depth_left, bool takes_damaged,
          std::set<std::string>& into) {
  for (const std::string& name : names_below(group, kLooked, takes_damaged)) {
    if (!is_hdf5_hard_link(group, name) || is_lost(group, name, takes_damaged)) continue;
    const Hdf5Handle object = open_object(group, name);
    if (H5Iget_type(object.id()) == H5I_GROUP && depth_left > 0)
      sign(object.id(), prefix + name + "/", depth_left - 1, takes_damaged, into);
    if (H5Iget_type(object.id()) != H5I_DATASET) continue;
    const Hdf5Handle type(H5Dget_type(object.id()), H5Tclose);
    into.insert(fmt::format("{}{} {}", prefix, name, static_cast<int>(H5Tget_class(type.id()))));
  }
}

LookedGroup look_into(hid_t group, bool takes_damaged) {
  LookedGroup looked;
  for (const std::string& name : names_below(group, kLooked, takes_damaged)) {
    if (!is_hdf5_hard_link(group, name)) {
      ++looked.others;
      continue;
    }
    if (is_lost(group, name, takes_damaged)) continue;
    const Hdf5Handle object = open_object(group, name);
    const H5I_type_t type = H5Iget_type(object.id());
    if (type == H5I_DATASET) {
      const Hdf5Handle space(H5Dget_space(object.id()), H5Sclose);
      const int rank = H5Sget_simple_extent_ndims(space.id());
      ++(rank > 0 ? looked.arrays : looked.others);
      const Hdf5Handle type(H5Dget_type(object.id()), H5Tclose);
      looked.kinds.insert(fmt::format("{} {}", rank, static_cast<int>(H5Tget_class(type.id()))));
      looked.have_numbers = looked.have_numbers && has_digit(name);
    } else if (type == H5I_GROUP) {
      const std::vector<std::string> inner = names_below(object.id(), kLooked, takes_damaged);
      const bool is_alone = !inner.empty() && std::ranges::all_of(inner, [&](const auto& one) {
        return is_hdf5_hard_link(object.id(), one) &&
               (is_lost(object.id(), one, takes_damaged) ||
                H5Iget_type(open_object(object.id(), one).id()) == H5I_GROUP);
      });
      if (is_alone) looked.alone.push_back(name);
      looked.groups.push_back(name);
      sign(object.id(), "", kMostDepthOfSamples, takes_damaged, looked.signatures.emplace_back());
    }
  }
  return looked;
}

bool are_alike(const std::vector<std::set<std::string>>& signatures, bool takes_damaged) {
  std::map<std::string, std::size_t> all;
  for (const auto& one : signatures)
    for (const std::string& path : one) ++all[path];
  const auto alike = std::ranges::count_if(
      signatures, [&](const auto& one) { return 2 * one.size() >= all.size(); });
  const auto groups = static_cast<std::ptrdiff_t>(signatures.size());
  return !all.empty() && (takes_damaged ? 2 * alike > groups : alike == groups);
}

}  // namespace

std::optional<Hdf5SamplePlace> find_hdf5_samples(std::int64_t file, bool takes_damaged) {
  std::string parent = "/";
  LookedGroup looked;
  for (int depth = 0; depth < kMostDepthOfSamples; ++depth) {
    if (takes_damaged && is_lost(file, parent, true)) return std::nullopt;
    looked = look_into(open_object(file, parent).id(), takes_damaged);
    if (looked.arrays > 0 || looked.alone.size() != 1) break;
    parent = parent == "/" ? looked.alone[0] : parent.append("/").append(looked.alone[0]);
  }
  if (looked.groups.empty() && looked.arrays == 0) return std::nullopt;
  const auto is_split = [](const std::string& name) {
    return std::ranges::find(kNamesOfSplits, name) != std::end(kNamesOfSplits);
  };
  const bool has_numbers = std::ranges::all_of(looked.groups, has_digit);
  const std::size_t objects = looked.groups.size() + looked.arrays + looked.others;
  const bool are_most =
      takes_damaged ? 2 * looked.groups.size() > objects : looked.groups.size() == objects;
  const bool is_clear = looked.groups.size() > 1 && are_most &&
                        (has_numbers || looked.groups.size() >= kManyGroups) &&
                        std::ranges::none_of(looked.groups, is_split) &&
                        are_alike(looked.signatures, takes_damaged);
  // Datasets are samples if they are alike, and many or numbered; beside groups that are samples
  // they are none.
  const bool are_datasets = looked.groups.empty() && looked.kinds.size() == 1 &&
                            (looked.have_numbers || looked.arrays >= kManyGroups);
  const bool are_groups =
      looked.groups.size() > 1 && has_numbers && are_alike(looked.signatures, takes_damaged);
  const bool is_file = looked.arrays > 0 && !are_datasets && !are_groups;
  H5G_info_t info{};
  if (H5Gget_info_by_name(file, parent.c_str(), &info, H5P_DEFAULT) < 0) info.nlinks = 0;
  return Hdf5SamplePlace{std::move(parent), is_clear, info.nlinks, is_file};
}

void walk_hdf5_samples(const InputFile& file, std::uint64_t memory_bytes,
                       const Hdf5SampleWalk& walk, const Hdf5SampleReceiver::Take& take,
                       const Hdf5SampleReceiver::Other& other, const std::function<void()>& ask) {
  ChildLimits limits = child_limits_for(file.size());
  limits.cpu_seconds += file.size() / kSlowestSampleBytes;
  limits.wall_seconds += 10 * limits.cpu_seconds;
  limits.memory_bytes += memory_bytes;
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  Hdf5SampleReceiver receiver(walk, take, other);
  run_hdf5_child(
      file, limits,
      [&](const SendMessage& send) {
        Hdf5TrackedFile opened(path, walk.lose != nullptr);
        bring_hdf5_filters();
        try {
          if (!opened.is_valid()) throw hdf5_failure("the HDF5 library cannot reopen this file");
          SampleSender(file, opened, walk, send).run();
        } catch (const Error& error) {
          throw opened.reason_of(error);
        }
      },
      [&](Bytes message) { receiver.take(message); }, ask);
  receiver.finish();
}

}  // namespace shale
