#include "shale/format/list_elements.hpp"

#include <iterator>

#include "shale/base/error.hpp"
#include "shale/format/value_checksum.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kPayloadWindow = 256 * 1024, kStructureWindow = 8 * 1024;

Error not_all_located(Code code, std::uint64_t located, std::uint64_t count) {
  return Error(code, "{} of {} elements of a list are located", located, count);
}

std::vector<FieldPlace> elements_of(const FieldPlace& list, const Format& format,
                                    const ViewBytes& view) {
  if (list.offset == kMissing || list.count == 0) return {};
  check_elements(list.count);
  if (format.walk_list == nullptr)
    throw Error(Code::bug, "format '{}' does not say where the elements of a list lie",
                format.name);
  return format.walk_list(view, list);
}

}  // namespace

void locate_elements(IndexRow& row, const Schema& schema, const Format& format,
                     const ViewOfField& view, bool with_crc32c) {
  const bool is_located = !row.elements.empty();
  const WalkProgress no_progress;
  WalkPace pace(no_progress, 0);
  std::size_t first = 0;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].kind != Kind::list) continue;
    const FieldPlace& list = row.cells[i].place;
    if (!is_located && view(i)) {
      const std::vector<FieldPlace> found = elements_of(list, format, view(i));
      row.elements.insert(row.elements.end(), found.begin(), found.end());
    }
    if (row.elements.size() - first < list.count) {
      throw not_all_located(Code::bug, row.elements.size() - first, list.count);
    }
    const std::size_t end = first + list.count;
    for (; with_crc32c && view(i) && first < end; ++first) {
      FieldPlace& element = row.elements[first];
      element.crc32c = crc32c_of_place(element, kPayloadWindow, pace, view(i));
    }
    first = end;
  }
}

std::vector<Bytes> elements_of_known(Bytes run) {
  std::vector<Bytes> elements;
  for (ByteReader from(run); !from.at_end();) elements.push_back(from.read_bytes(from.read_u32()));
  return elements;
}

Error wrong_element_count(std::uint64_t found, std::uint64_t expected) {
  return Error(Code::damaged, "list holds {} elements, expected {}", found, expected);
}

Error element_outside(const FieldPlace& element, const FieldPlace& list) {
  return Error(Code::damaged, "an element of {} bytes at {} is outside of its list, {} bytes at {}",
               element.length, element.offset, list.length, list.offset);
}

std::vector<Bytes> split_list(const Format& format, Bytes extent, const FieldPlace& list,
                              std::span<const FieldPlace> elements) {
  const bool is_framed = elements.empty() && !(list.count == 0 && extent.empty());
  if (format.split_list != nullptr && is_framed) return format.split_list(extent, list.count);
  if (elements.size() != list.count) {
    throw not_all_located(Code::damaged, elements.size(), list.count);
  }
  std::vector<Bytes> split;
  split.reserve(elements.size());
  for (const FieldPlace& element : elements) {
    const std::uint64_t begin = element.offset - list.offset;  // one that is before is huge
    if (begin > extent.size() || element.length > extent.size() - begin) {
      throw element_outside(element, list);
    }
    split.push_back(extent.subspan(begin, element.length));
  }
  return split;
}

std::vector<Unread> split_unread_list(const Format& format, const Unread& extent,
                                      const FieldPlace& list, std::span<const FieldPlace> elements,
                                      const std::function<Unread(const FieldPlace&)>& make) {
  std::vector<FieldPlace> places(elements.begin(), elements.end());
  std::vector<std::byte> held;
  const bool is_framed = elements.empty() && !(list.count == 0 && list.length == 0);
  if (format.split_list != nullptr && is_framed) {
    const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
      held.resize(length);
      extent->read(offset - list.offset, held);
      return Bytes(held);
    };
    places = elements_of(list, format, view);
  } else if (places.size() != list.count) {
    throw not_all_located(Code::damaged, places.size(), list.count);
  }
  std::vector<Unread> split;
  split.reserve(places.size());
  for (const FieldPlace& element : places) {
    const std::uint64_t begin = element.offset - list.offset;  // one that is before is huge
    if (begin > list.length || element.length > list.length - begin)
      throw element_outside(element, list);
    split.push_back(make(element));
  }
  return split;
}

std::span<const FieldPlace> elements_of_field(std::span<const FieldPlace> elements,
                                              std::span<const IndexCell> cells,
                                              const Schema& schema, std::size_t field) {
  const auto count_of = [&](std::size_t i) -> std::uint64_t {
    return schema.fields[i].kind == Kind::list ? cells[i].place.count : 0;
  };
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < field; ++i) first += count_of(i);
  if (first > elements.size() || count_of(field) > elements.size() - first) return {};
  return elements.subspan(first, count_of(field));
}

ElementScan::ElementScan(const Format& format, const ShardInput& input, const ViewBytes& view)
    : format_(format),
      schema_(input.schema),
      layout_(input.layout),
      reads_payload_(input.reads_payload) {
  if (!layout_.has_elements) return;
  if (view) {
    views_.push_back(view);
  } else {
    windows_.reserve(input.files.size());
    for (const InputFile& file : input.files) {
      windows_.emplace_back(file, reads_payload_ ? kPayloadWindow : kStructureWindow);
      views_.push_back(windows_.back().views());
    }
  }
  if (layout_.has_values) views_.emplace_back();
}

void ElementScan::locate(IndexRow& row) {
  if (!layout_.has_elements) return;
  const ViewOfField view = [this](std::size_t field) -> const ViewBytes& {
    return views_[layout_.part_file[layout_.field_part[field]]];
  };
  locate_elements(row, schema_, format_, view, reads_payload_);
}

void locate_elements(Record& record, const Schema& schema, const Format& format,
                     const ShardLayout& layout) {
  if (!layout.has_elements) return;
  std::vector<BlobView> parts;
  std::vector<ViewBytes> views;
  parts.reserve(record.parts.size());
  views.reserve(record.parts.size());
  for (const Blob& part : record.parts) {
    BlobView& bytes = parts.emplace_back(part);
    views.emplace_back(
        [&bytes](std::uint64_t offset, std::uint64_t length) { return bytes(offset, length); });
  }
  const ViewOfField view = [&](std::size_t field) -> const ViewBytes& {
    return views[layout.field_part[field]];
  };
  locate_elements(record.row, schema, format, view, false);
  const WalkProgress no_progress;
  WalkPace pace(no_progress, 0);
  auto element = record.row.elements.begin();
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].kind != Kind::list) continue;
    for (std::uint32_t left = record.row.cells[i].place.count; left > 0; --left, ++element) {
      const Unread* unread =
          parts[layout.field_part[i]].unread_at(element->offset, element->length);
      element->crc32c = unread != nullptr
                            ? (*unread)->crc32c()
                            : crc32c_of_place(*element, kPayloadWindow, pace, view(i));
    }
  }
}

}  // namespace shale
