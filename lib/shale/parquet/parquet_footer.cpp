#include "shale/parquet/parquet_footer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/parquet/parquet_annotation.hpp"
#include "shale/parquet/thrift_reader.hpp"

namespace shale {
namespace {

constexpr int kMostSchemaDepth = 64;

std::int64_t begin_of(const ParquetChunk& chunk) {
  const std::int64_t begin = chunk.data_page_offset;
  const std::int64_t dictionary = chunk.dictionary_page_offset.value_or(0);
  return dictionary > 0 && dictionary < begin ? dictionary : begin;
}

Error not_in_file(const ParquetChunk& chunk, std::uint64_t end, std::string_view where) {
  Error error(Code::damaged, "a column chunk of {} bytes at {} is not between 4 and {}",
              chunk.stored_bytes, begin_of(chunk), end);
  return error.at(where);
}

Error is_encrypted(std::string_view where) {
  return Error(Code::unsupported, "is encrypted, which is not supported").at(where);
}

class FooterReader {
 public:
  FooterReader(Bytes bytes, std::string_view where, std::uint64_t base)
      : in_(bytes, where, base),
        where_(where),
        chunks_end_(base),
        most_slots_(most_slots_of(base + bytes.size())) {}

  ParquetFooter read() {
    Seen seen;
    in_.read_struct("the footer", [&](const ThriftField& field) {
      seen.add(field);
      switch (field.id) {
        case 1:
          footer_.version = in_.read_i32(field);
          return true;
        case 2:
          in_.read_structs(field, [&] {
            if (footer_.schema.size() == kMostSchemaNodes)
              throw above_limit("schema of more than {} nodes", kMostSchemaNodes);
            footer_.schema.push_back(read_element());
          });
          columns_ = check_schema();
          return true;
        case 3:
          footer_.rows = in_.read_i64(field);
          return true;
        case 4:
          if (!seen.has(2)) in_.fail("the footer has row groups in front of the schema");
          in_.read_structs(field, [&] { footer_.row_groups.push_back(read_row_group()); });
          return true;
        case 5:
          in_.read_structs(field, [&] {
            if (footer_.key_values.size() == kMostKeyValues)
              throw above_limit("more than {} keys of metadata", kMostKeyValues);
            footer_.key_values.push_back(read_key_value());
          });
          return true;
        case 6:
          footer_.created_by = in_.read_text(field);
          return true;
        case 8:
          refuse_encryption();
        default:
          return false;
      }
    });
    seen.require(in_, "the footer", {1, 2, 3, 4});
    end_chunks();
    check_sums();
    return std::move(footer_);
  }

 private:
  // Which fields of a struct were there: what misses one is refused before it takes memory.
  class Seen {
   public:
    void add(const ThriftField& field) {
      if (field.id < 64) bits_ |= std::uint64_t{1} << field.id;
    }
    [[nodiscard]] bool has(int id) const { return (bits_ >> id & 1) != 0; }
    void require(const ThriftReader& in, std::string_view name,
                 std::initializer_list<int> ids) const {
      for (const int id : ids)
        if (!has(id)) in.fail(fmt::format("{} has no field {}", name, id));
    }

   private:
    std::uint64_t bits_ = 0;
  };

  ParquetElement read_element() {
    constexpr std::string_view kName = "a schema element";
    ParquetElement element;
    ConvertedType converted;
    Seen seen;
    in_.read_struct(kName, [&](const ThriftField& field) {
      seen.add(field);
      switch (field.id) {
        case 1:
          element.type = type_of(field);
          return true;
        case 2:
          element.type_length = in_.read_i32(field);
          return true;
        case 3: {
          const std::uint8_t repetition = in_.read_enum(field);
          if (repetition > 2) in_.fail(fmt::format("{} has the repetition {}", kName, repetition));
          element.repetition = static_cast<ParquetRepetition>(repetition);
          return true;
        }
        case 4:
          element.name = in_.read_text(field);
          return true;
        case 5:
          element.children = in_.read_i32(field);
          return true;
        case 6:
          converted.number = in_.read_enum(field);
          return true;
        case 7:
          converted.scale = in_.read_i32(field);
          return true;
        case 8:
          converted.precision = in_.read_i32(field);
          return true;
        case 10:
          element.annotation = read_logical_type(in_, field);
          return true;
        default:
          return false;
      }
    });
    seen.require(in_, kName, {4});
    if (element.children < 0) in_.fail(fmt::format("{} has {} children", kName, element.children));
    if (element.children > 0 && element.type)
      in_.fail(fmt::format("{} '{}' has a type and children", kName, element.name));
    if (element.type == ParquetType::fixed_bytes && element.type_length <= 0)
      in_.fail(
          fmt::format("{} '{}' has values of {} bytes", kName, element.name, element.type_length));
    if (element.annotation.meaning == ParquetMeaning::none)
      element.annotation = annotation_of(converted);
    return element;
  }

  ParquetType type_of(const ThriftField& field) {
    const std::uint8_t type = in_.read_enum(field);
    if (type > 7) in_.fail(fmt::format("{} has the type {}, which is unknown", field.of, type));
    return static_cast<ParquetType>(type);
  }

  // That the depth-first list of nodes is one tree. Returns the types of its leaves.
  std::vector<ParquetType> check_schema() const {
    const std::vector<ParquetElement>& schema = footer_.schema;
    if (schema.empty() || schema[0].type) in_.fail("the schema has no root");
    std::vector<ParquetType> leaves;
    struct Open {
      std::int32_t children;  // to come
      std::uint64_t path_bytes;
    };
    std::vector<Open> open = {{schema[0].children, 0}};
    for (std::size_t i = 1; i < schema.size(); ++i) {
      while (!open.empty() && open.back().children == 0) open.pop_back();
      if (open.empty())
        in_.fail(fmt::format("the schema has {} nodes too many", schema.size() - i));
      --open.back().children;
      const std::uint64_t path_bytes = open.back().path_bytes + schema[i].name.size() + 1;
      if (path_bytes > kMostPathBytes)
        throw above_limit("a column with names of {} bytes, at most {} are read", path_bytes,
                          kMostPathBytes);
      if (schema[i].type) {
        leaves.push_back(*schema[i].type);
        continue;
      }
      if (schema[i].children == 0)
        in_.fail(fmt::format("the group '{}' of the schema is empty", schema[i].name));
      open.push_back({schema[i].children, path_bytes});
      if (open.size() > kMostSchemaDepth) in_.fail("the schema is nested more than 64 levels deep");
    }
    for (const Open& left : open)
      if (left.children != 0) in_.fail("the schema has too few nodes");
    return leaves;
  }

  ParquetKeyValue read_key_value() {
    ParquetKeyValue pair;
    Seen seen;
    in_.read_struct("a key of the metadata", [&](const ThriftField& field) {
      seen.add(field);
      if (field.id == 1) return pair.key = in_.read_text(field), true;
      if (field.id == 2) return pair.value = in_.read_text(field), true;
      return false;
    });
    seen.require(in_, "a key of the metadata", {1});
    return pair;
  }

  ParquetRowGroup read_row_group() {
    constexpr std::string_view kName = "a row group";
    ParquetRowGroup group;
    Seen seen;
    in_.read_struct(kName, [&](const ThriftField& field) {
      seen.add(field);
      switch (field.id) {
        case 1:
          in_.read_structs(field, [&] {
            if (group.chunks.size() == columns_.size())
              in_.fail(fmt::format("{} has more chunks than the {} columns of the schema", kName,
                                   columns_.size()));
            group.chunks.push_back(read_chunk(columns_[group.chunks.size()]));
          });
          return true;
        case 2:
          group.uncompressed_bytes = in_.read_i64(field);
          return true;
        case 3:
          group.rows = in_.read_i64(field);
          return true;
        default:
          return false;
      }
    });
    seen.require(in_, kName, {1, 2, 3});
    if (group.rows < 0) in_.fail(fmt::format("{} has {} rows", kName, group.rows));
    if (group.chunks.size() != columns_.size())
      in_.fail(fmt::format("{} has {} chunks, the schema {} columns", kName, group.chunks.size(),
                           columns_.size()));
    return group;
  }

  ParquetChunk read_chunk(ParquetType type) {
    constexpr std::string_view kName = "a column chunk";
    ParquetChunk chunk;
    Seen seen;
    in_.read_struct(kName, [&](const ThriftField& field) {
      seen.add(field);
      switch (field.id) {
        case 1:
          throw Error(Code::unsupported, "column chunks are in the other file '{}'",
                      in_.read_text(field))
              .at(where_);
        case 3:
          read_chunk_metadata(field, chunk);
          return true;
        case 4:
          chunk.offset_index_offset = in_.read_i64(field);
          return true;
        case 5:
          chunk.offset_index_bytes = in_.read_i32(field);
          return true;
        case 6:
          chunk.column_index_offset = in_.read_i64(field);
          return true;
        case 7:
          chunk.column_index_bytes = in_.read_i32(field);
          return true;
        case 8:
        case 9:
          refuse_encryption();
        default:
          return false;
      }
    });
    seen.require(in_, kName, {3});
    if (chunk.type != type)
      in_.fail(fmt::format("{} has the type {}, its column {}", kName, static_cast<int>(chunk.type),
                           static_cast<int>(type)));
    // Of no values writers leave no page, or none that is found.
    if (chunk.slots == 0) {
      chunk.data_page_offset = 4;
      chunk.dictionary_page_offset.reset();
      chunk.stored_bytes = 0;
    }
    if (begin_of(chunk) < 4 || begin_of(chunk) > static_cast<std::int64_t>(chunks_end_) ||
        chunk.stored_bytes < 0)
      throw not_in_file(chunk, chunks_end_, where_);
    return chunk;
  }

  void read_chunk_metadata(const ThriftField& of, ParquetChunk& chunk) {
    constexpr std::string_view kName = "the metadata of a column chunk";
    Seen seen;
    in_.read_struct(of, kName, [&](const ThriftField& field) {
      seen.add(field);
      switch (field.id) {
        case 1:
          chunk.type = type_of(field);
          return true;
        case 2:
          for (const std::int32_t number : in_.read_numbers(field))
            chunk.encodings |= number >= 0 && number < 31 ? 1U << number : 1U << 31;
          return true;
        case 4:
          chunk.codec = static_cast<ParquetCodec>(in_.read_enum(field));
          return true;
        case 5:
          chunk.slots = in_.read_i64(field);
          return true;
        case 6:
          chunk.uncompressed_bytes = in_.read_i64(field);
          return true;
        case 7:
          chunk.stored_bytes = in_.read_i64(field);
          return true;
        case 9:
          chunk.data_page_offset = in_.read_i64(field);
          return true;
        case 11:
          chunk.dictionary_page_offset = in_.read_i64(field);
          return true;
        case 12:
          in_.read_struct(field, "statistics", [&](const ThriftField& one) {
            return one.id == 3 ? (chunk.nulls = in_.read_i64(one), true) : false;
          });
          return true;
        default:
          return false;
      }
    });
    seen.require(in_, kName, {1, 4, 5, 7, 9});
    if (chunk.slots < 0) in_.fail(fmt::format("{} has {} values", kName, chunk.slots));
  }

  // Some writers count bytes of others with those of a chunk.
  void end_chunks() {
    std::vector<std::uint64_t> begins = {chunks_end_};
    for (const ParquetRowGroup& group : footer_.row_groups) {
      for (const ParquetChunk& chunk : group.chunks)
        begins.push_back(static_cast<std::uint64_t>(begin_of(chunk)));
    }
    std::ranges::sort(begins);
    for (ParquetRowGroup& group : footer_.row_groups) {
      for (ParquetChunk& chunk : group.chunks) {
        const auto begin = static_cast<std::uint64_t>(begin_of(chunk));
        const auto next = std::ranges::upper_bound(begins, begin);
        const std::uint64_t end = next == begins.end() ? begin : *next;
        chunk.stored_bytes = std::min(chunk.stored_bytes, static_cast<std::int64_t>(end - begin));
      }
    }
  }

  // Each number is within its own bounds already; together they are what a file can have.
  void check_sums() const {
    std::uint64_t rows = 0, slots = 0, bytes = 0;
    for (const ParquetRowGroup& group : footer_.row_groups) {
      add(rows, static_cast<std::uint64_t>(group.rows), "rows");
      for (const ParquetChunk& chunk : group.chunks) {
        add(slots, static_cast<std::uint64_t>(chunk.slots), "values");
        bytes += static_cast<std::uint64_t>(chunk.stored_bytes);
        if (bytes > chunks_end_)
          in_.fail(fmt::format("column chunks of {} bytes and more in front of a footer at {}",
                               bytes, chunks_end_));
      }
    }
    if (footer_.rows >= 0 && rows == static_cast<std::uint64_t>(footer_.rows)) return;
    in_.fail(fmt::format("the file has {} rows, its row groups {}", footer_.rows, rows));
  }

  void add(std::uint64_t& sum, std::uint64_t more, std::string_view what) const {
    if (more > most_slots_ - sum)
      throw above_limit("{} {} and {} more, at most {} are read of a file of this size", sum, what,
                        more, most_slots_);
    sum += more;
  }

  template <class... Args>
  [[nodiscard]] Error above_limit(fmt::format_string<Args...> message, Args&&... args) const {
    return Error(Code::limit, message, std::forward<Args>(args)...)
        .at(where_, chunks_end_ + in_.taken());
  }

  [[noreturn]] void refuse_encryption() const { throw is_encrypted(where_); }

  ThriftReader in_;
  std::string_view where_;
  std::uint64_t chunks_end_, most_slots_;
  ParquetFooter footer_;
  std::vector<ParquetType> columns_;
};

class PageHeaderReader {
 public:
  PageHeaderReader(Bytes bytes, std::string_view where, std::uint64_t base)
      : in_(bytes, where, base) {}

  ParquetPageHeader read() {
    constexpr std::string_view kName = "a page header";
    std::uint64_t seen = 0;
    in_.read_struct(kName, [&](const ThriftField& field) {
      if (field.id < 64) seen |= std::uint64_t{1} << field.id;
      switch (field.id) {
        case 1:
          read_kind(field);
          return true;
        case 2:
          page_.uncompressed_bytes = in_.read_i32(field);
          return true;
        case 3:
          page_.stored_bytes = in_.read_i32(field);
          return true;
        case 4:
          page_.crc = static_cast<std::uint32_t>(in_.read_i32(field));
          return true;
        case 5:
          read_data(field);
          return true;
        case 7:
          read_dictionary(field);
          return true;
        case 8:
          read_data_v2(field);
          return true;
        default:
          return false;
      }
    });
    constexpr std::array<int, 4> kDetails = {5, 6, 7, 8};  // by kind
    for (const int id : {1, 2, 3, kDetails[static_cast<std::size_t>(page_.kind)]})
      if (id != 6 && (seen >> id & 1) == 0) in_.fail(fmt::format("{} has no field {}", kName, id));
    for (const std::int32_t number :
         {page_.uncompressed_bytes, page_.stored_bytes, page_.slots, page_.nulls, page_.rows,
          page_.definition_bytes, page_.repetition_bytes})
      if (number < 0) in_.fail(fmt::format("{} has the count {}", kName, number));
    if (page_.nulls > page_.slots || page_.rows > page_.slots)
      in_.fail(fmt::format("{} has {} nulls and {} rows of {} values", kName, page_.nulls,
                           page_.rows, page_.slots));
    page_.header_bytes = in_.taken();
    return page_;
  }
  [[nodiscard]] bool ran_out() const { return in_.ran_out(); }

 private:
  void read_kind(const ThriftField& field) {
    const std::uint8_t kind = in_.read_enum(field);
    if (kind > 3) in_.fail(fmt::format("{} is of the unknown kind {}", field.of, kind));
    page_.kind = static_cast<ParquetPageKind>(kind);
  }
  ParquetEncoding encoding(const ThriftField& field) {
    return static_cast<ParquetEncoding>(in_.read_enum(field));
  }

  void read_data(const ThriftField& of) {
    in_.read_struct(of, "a data page header", [&](const ThriftField& field) {
      if (field.id == 1) return page_.slots = in_.read_i32(field), true;
      if (field.id == 2) return page_.encoding = encoding(field), true;
      if (field.id == 3) return page_.definition_encoding = encoding(field), true;
      if (field.id == 4) return page_.repetition_encoding = encoding(field), true;
      return false;
    });
  }
  void read_dictionary(const ThriftField& of) {
    in_.read_struct(of, "a dictionary page header", [&](const ThriftField& field) {
      if (field.id == 1) return page_.slots = in_.read_i32(field), true;
      if (field.id == 2) return page_.encoding = encoding(field), true;
      return false;
    });
  }
  void read_data_v2(const ThriftField& of) {
    in_.read_struct(of, "a data page header", [&](const ThriftField& field) {
      switch (field.id) {
        case 1:
          page_.slots = in_.read_i32(field);
          return true;
        case 2:
          page_.nulls = in_.read_i32(field);
          return true;
        case 3:
          page_.rows = in_.read_i32(field);
          return true;
        case 4:
          page_.encoding = encoding(field);
          return true;
        case 5:
          page_.definition_bytes = in_.read_i32(field);
          return true;
        case 6:
          page_.repetition_bytes = in_.read_i32(field);
          return true;
        case 7:
          page_.is_compressed = in_.read_bool(field);
          return true;
        default:
          return false;
      }
    });
  }

  ThriftReader in_;
  ParquetPageHeader page_;
};

}  // namespace

std::string name_of(ParquetCodec codec) {
  constexpr std::array<std::string_view, 8> kNames = {
      "no compression", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"};
  const auto number = static_cast<std::size_t>(codec);
  return number < kNames.size() ? std::string(kNames[number]) : fmt::format("codec {}", number);
}

ParquetFooter read_parquet_footer(const ViewBytes& view, std::uint64_t file_bytes,
                                  std::string_view where) {
  if (file_bytes < kLeastParquetBytes)
    throw Error(Code::damaged, "has {} bytes, a Parquet file at least {}", file_bytes,
                kLeastParquetBytes)
        .at(where);
  std::array<std::byte, 8> tail{};
  std::ranges::copy(view(file_bytes - 8, 8), tail.begin());
  const std::string_view magic = as_text(Bytes(tail).subspan(4));
  if (magic == "PARE") throw is_encrypted(where);
  if (magic != kParquetMagic)
    throw Error(Code::damaged, "does not end as a Parquet file does: it is truncated, or damaged")
        .at(where, file_bytes - 4);
  if (as_text(view(0, 4)) != kParquetMagic)
    throw Error(Code::damaged, "does not begin as a Parquet file does").at(where, 0);
  const std::uint64_t length = ByteReader(tail).read_u32();
  if (length == 0 || length > file_bytes - kLeastParquetBytes)
    throw Error(Code::damaged, "footer of {} bytes in a file of {}", length, file_bytes)
        .at(where, file_bytes - 8);
  if (length > kMostFooterBytes)
    throw Error(Code::limit, "footer of {} bytes, at most {} are read", length, kMostFooterBytes)
        .at(where, file_bytes - 8);
  const std::uint64_t begin = file_bytes - 8 - length;
  return FooterReader(view(begin, length), where, begin).read();
}

ParquetRange range_of(const ParquetChunk& chunk, std::uint64_t end, std::string_view where) {
  const std::int64_t begin = begin_of(chunk);
  const auto at = static_cast<std::uint64_t>(begin);
  const auto bytes = static_cast<std::uint64_t>(chunk.stored_bytes);
  if (begin < 4 || chunk.stored_bytes < 0 || at > end || bytes > end - at)
    throw not_in_file(chunk, end, where);
  return {.begin = at, .end = at + bytes};
}

ParquetPageHeader read_page_header(const ViewBytes& view, std::uint64_t offset, std::uint64_t end,
                                   std::string_view where) {
  constexpr std::uint64_t kFirstTry = 512;
  for (std::uint64_t window = kFirstTry;; window *= 16) {
    const std::uint64_t length = std::min({window, end - offset, kMostPageHeaderBytes});
    PageHeaderReader reader(view(offset, length), where, offset);
    try {
      const ParquetPageHeader page = reader.read();
      const std::uint64_t left = end - offset - page.header_bytes;
      if (static_cast<std::uint64_t>(page.stored_bytes) > left)
        throw Error(Code::damaged, "page of {} bytes, {} left in its column chunk",
                    page.stored_bytes, left)
            .at(where, offset);
      return page;
    } catch (const Error&) {
      if (!reader.ran_out() || length == end - offset) throw;
      if (length < kMostPageHeaderBytes) continue;
      throw Error(Code::limit, "page header of more than {} bytes", kMostPageHeaderBytes)
          .at(where, offset);
    }
  }
}

}  // namespace shale
