#include "formats/safetensors/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "shale/base/printable.hpp"
#include "shale/data/json_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLengthBytes = 8, kDataAlignment = 64;
constexpr std::size_t kMostTensors = 1 << 17, kMostShapeAxes = 64, kMostTensorNameBytes = 65'536;
constexpr std::uint64_t kMostDataBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kMetadata = "__metadata__";

// JSON, as far as such headers need it: the caller asks for what must come next, so no text makes
// it recurse.
class HeaderScanner {
 public:
  HeaderScanner(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  bool accept(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw damaged("safetensors header has no '{}' here", c);
  }
  [[nodiscard]] bool at_end() {
    skip_space();
    return position_ == text_.size();
  }

  std::string read_string(std::size_t most_bytes = kMostTensorNameBytes) {
    expect('"');
    std::string text;
    while (true) {
      if (position_ == text_.size()) throw damaged("safetensors header ends inside a string");
      if (text.size() > most_bytes) throw damaged("string in a safetensors header is too long");
      const char c = text_[position_++];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20)
        throw damaged("control character in a string of a safetensors header");
      if (c == '\\') {
        read_escape(text);
      } else {
        text += c;
      }
    }
    if (!is_utf8(text)) throw damaged("string in a safetensors header is not UTF-8");
    return text;
  }

  std::uint64_t read_number() {
    skip_space();
    std::uint64_t value = 0;
    const std::size_t begin = position_;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9';
         ++position_) {
      const auto digit = static_cast<std::uint64_t>(text_[position_] - '0');
      if (value > (kMostDataBytes - digit) / 10) throw damaged("number of 2^63 or more");
      value = value * 10 + digit;
    }
    if (position_ == begin) throw damaged("safetensors header has no number here");
    return value;
  }

  std::vector<std::uint64_t> read_numbers() {
    std::vector<std::uint64_t> numbers;
    expect('[');
    if (accept(']')) return numbers;
    do {
      if (numbers.size() == kMostShapeAxes)
        throw damaged("tensor of more than {} axes", kMostShapeAxes);
      numbers.push_back(read_number());
    } while (accept(','));
    expect(']');
    return numbers;
  }

  template <class... Args>
  [[nodiscard]] Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    Error error(Code::damaged, format, std::forward<Args>(args)...);
    error.at(where_, kLengthBytes + position_);
    return error;
  }

 private:
  void skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  void read_escape(std::string& text) {
    if (position_ == text_.size()) throw damaged("safetensors header ends inside a string");
    const char c = text_[position_++];
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t found = kEscapes.find(c); found != std::string_view::npos) {
      text += kMeanings[found];
      return;
    }
    if (c != 'u') throw damaged("unknown escape in a string of a safetensors header");
    std::uint32_t point = read_hex();
    const bool is_first_half = point >= 0xd800 && point < 0xdc00;
    if (is_first_half && text_.substr(position_).starts_with("\\u")) {
      position_ += 2;
      const std::uint32_t second = read_hex();
      if (second < 0xdc00 || second > 0xdfff) throw damaged("half of a surrogate pair");
      point = 0x10000 + ((point - 0xd800) << 10) + (second - 0xdc00);
    }
    append_utf8(text, point);  // half a pair is not UTF-8
  }

  std::uint32_t read_hex() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const char c = position_ < text_.size() ? text_[position_] : ' ';
      const std::size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
      if (digit == std::string_view::npos) throw damaged("escape of four digits expected");
      value = value << 4 | static_cast<std::uint32_t>(digit);
      ++position_;
    }
    return value;
  }

  std::string_view text_, where_;
  std::size_t position_ = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view where, std::uint64_t data_begin,
               std::uint64_t data_bytes)
      : scanner_(text, where), begin_(data_begin), bytes_(data_bytes) {}

  StoredTensors read() {
    scanner_.expect('{');
    if (!scanner_.accept('}')) {
      do {
        read_entry();
      } while (scanner_.accept(','));
      scanner_.expect('}');
    }
    if (!scanner_.at_end()) throw scanner_.damaged("safetensors header continues after its end");
    check_places();
    return std::move(found_);
  }

 private:
  struct Extent {
    std::uint64_t begin, end;
    std::size_t tensor;
  };

  void read_entry() {
    std::string name = scanner_.read_string();
    scanner_.expect(':');
    if (name == kMetadata) return read_metadata();
    if (found_.tensors.size() == kMostTensors) {
      throw Error(Code::limit, "safetensors header names more than {} tensors", kMostTensors);
    }
    if (!names_.insert(name).second)
      throw scanner_.damaged("tensor '{}' is in the header twice", printable(name));
    StoredTensor& tensor = found_.tensors.emplace_back();
    tensor.name = std::move(name);
    read_tensor(tensor);
  }

  // No field holds it. "format" says which library wrote the file.
  void read_metadata() {
    scanner_.expect('{');
    if (scanner_.accept('}')) return;
    do {
      const std::string name = scanner_.read_string();
      if (name != "format" && found_.left_out.size() < kMostTensors)
        found_.left_out.push_back(fmt::format("{}.{}", kMetadata, name));
      scanner_.expect(':');
      (void)scanner_.read_string(std::string::npos);
    } while (scanner_.accept(','));
    scanner_.expect('}');
  }

  void read_tensor(StoredTensor& tensor) {
    std::optional<std::string> dtype;
    std::optional<std::vector<std::uint64_t>> shape, offsets;
    scanner_.expect('{');
    do {
      const std::string word = scanner_.read_string();
      scanner_.expect(':');
      if (word == "dtype" && !dtype) {
        dtype = scanner_.read_string();
      } else if (word == "shape" && !shape) {
        shape = scanner_.read_numbers();
      } else if (word == "data_offsets" && !offsets) {
        offsets = scanner_.read_numbers();
      } else {
        throw scanner_.damaged("tensor '{}' has '{}', which is not expected",
                               printable(tensor.name), printable(word));
      }
    } while (scanner_.accept(','));
    scanner_.expect('}');
    if (!dtype || !shape || !offsets || offsets->size() != 2)
      throw scanner_.damaged("tensor '{}' lacks dtype, shape or offsets", printable(tensor.name));
    tensor.shape = std::move(*shape);
    describe(tensor, *dtype, (*offsets)[0], (*offsets)[1]);
  }

  void describe(StoredTensor& tensor, const std::string& dtype, std::uint64_t begin,
                std::uint64_t end) {
    if (begin > end || end > bytes_) {
      throw scanner_.damaged("tensor '{}' lies at [{}, {}) of {} bytes", printable(tensor.name),
                             begin, end, bytes_);
    }
    extents_.push_back({begin, end, found_.tensors.size() - 1});
    tensor.offset = begin_ + begin;
    const TensorType* const type = tensor_type_of_safetensors(dtype);
    if (type == nullptr) {
      tensor.obstacle = fmt::format("is of dtype {}, which is not supported", printable(dtype));
      return;
    }
    check_length(tensor, type->item_bytes, end - begin);
    tensor.dtype = DType::parse(type->descr);
  }

  void check_length(const StoredTensor& tensor, std::uint64_t item, std::uint64_t found) const {
    std::uint64_t bytes = item;  // without axes of length 0
    bool is_empty = false;
    for (const std::uint64_t axis : tensor.shape) {
      is_empty = is_empty || axis == 0;
      if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(axis, 1), &bytes) ||
          bytes > kMostDataBytes)
        throw scanner_.damaged("tensor '{}' claims 2^63 bytes or more", printable(tensor.name));
    }
    if (is_empty) bytes = 0;
    if (bytes == found) return;
    throw scanner_.damaged("tensor '{}' has {} bytes, expected {} by shape and dtype",
                           printable(tensor.name), found, bytes);
  }

  // One after the other, from the first byte to the last.
  void check_places() {
    std::ranges::sort(extents_, [](const Extent& a, const Extent& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t at = 0;
    for (const Extent& extent : extents_) {
      if (extent.begin != at) {
        throw scanner_.damaged("tensor '{}' begins at {}, expected {}: tensors {}",
                               printable(found_.tensors[extent.tensor].name), extent.begin, at,
                               extent.begin < at ? "overlap" : "leave a gap");
      }
      at = extent.end;
    }
    if (at != bytes_) {
      throw scanner_
          .damaged("tensors take {} bytes after the header, but the file has {}", at, bytes_)
          .hint("the file was truncated, or is still being written; save or copy it again");
    }
  }

  HeaderScanner scanner_;
  std::uint64_t begin_, bytes_;
  StoredTensors found_;
  std::set<std::string> names_;
  std::vector<Extent> extents_;
};

std::uint64_t length_of(Bytes head) { return ByteReader(head).read_u64(); }

}  // namespace

bool is_safetensors(Bytes head, std::uint64_t file_bytes) {
  if (head.size() < kLengthBytes + 2 || as_text(head)[kLengthBytes] != '{') return false;
  const std::uint64_t length = length_of(head);
  const char next = as_text(head)[kLengthBytes + 1];
  return length >= 2 && length <= file_bytes - kLengthBytes &&
         std::string_view("\"} \t\r\n").find(next) != std::string_view::npos;
}

StoredTensors read_safetensors(std::uint64_t file_bytes, const ViewBytes& view,
                               std::string_view where) {
  if (file_bytes < kLengthBytes)
    throw Error(Code::damaged, "file of {} bytes has no safetensors header", file_bytes).at(where);
  const std::uint64_t length = length_of(view(0, kLengthBytes));
  if (length > kMaxSafetensorsHeader) {
    throw Error(Code::limit, "safetensors header of {} bytes, more than the limit of {}", length,
                kMaxSafetensorsHeader)
        .at(where, 0);
  }
  if (length > file_bytes - kLengthBytes) {
    throw Error(Code::damaged, "safetensors header of {} bytes, but only {} are left", length,
                file_bytes - kLengthBytes)
        .at(where, 0);
  }
  const std::uint64_t begin = kLengthBytes + length;
  return HeaderReader(as_text(view(kLengthBytes, length)), where, begin, file_bytes - begin).read();
}

std::vector<std::byte> safetensors_header(std::span<const TensorColumn> columns,
                                          std::span<const std::size_t> places) {
  constexpr std::uint64_t kLongestNumber = 19;
  std::vector<std::uint64_t> begins(columns.size());
  std::uint64_t at = 0;
  for (const std::size_t column : places) {
    begins[column] = at;
    at += columns[column].bytes();
  }
  std::string text = "{";
  std::uint64_t room = 2;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TensorColumn& column = columns[i];
    const TensorType* const type = tensor_type_of_descr(column.dtype.descr());
    if (type == nullptr || type->safetensors.empty())
      throw Error(Code::bug, "safetensors has no dtype {}", column.dtype.descr());
    const std::size_t begun = text.size();
    text += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[", i > 0 ? "," : "",
                        json_quoted(column.name), type->safetensors);
    const std::size_t numbers = text.size();
    for (std::size_t axis = 0; axis < column.shape.size(); ++axis)
      text += fmt::format("{}{}", axis > 0 ? "," : "", column.shape[axis]);
    text += fmt::format("],\"data_offsets\":[{},{}]}}", begins[i], begins[i] + column.bytes());
    constexpr std::string_view kRest = "],\"data_offsets\":[,]}";
    room += numbers - begun + kRest.size() + (column.shape.size() + 2) * (kLongestNumber + 1);
  }
  text += "}";
  text.resize(
      (kLengthBytes + room + kDataAlignment - 1) / kDataAlignment * kDataAlignment - kLengthBytes,
      ' ');
  ByteWriter out;
  out.write(std::uint64_t{text.size()});
  out.write_text(text);
  return out.take();
}

std::vector<std::size_t> safetensors_places(std::span<const TensorColumn> columns) {
  std::vector<std::size_t> places(columns.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, std::ranges::greater{},
                           [&](std::size_t i) { return columns[i].dtype.item_bytes(); });
  return places;
}

}  // namespace shale
