#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/zip_writer.hpp"

#include "formats/pt/pt_archive.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

// An archive of these files, stored.
std::string archive_with(const std::vector<std::pair<std::string, std::string>>& files) {
  ByteWriter out, directory;
  for (const auto& [name, bytes] : files) {
    const ZipEntry entry{.name = name,
                         .offset = out.size(),
                         .bytes = bytes.size(),
                         .stored = bytes.size(),
                         .crc32 = crc32(as_bytes(bytes))};
    out.write_bytes(zip_local_header(entry));
    out.write_text(bytes);
    append_zip_directory_entry(directory, entry);
  }
  const std::uint64_t begin = out.size();
  out.write_bytes(directory.bytes());
  append_zip_end(out, files.size(), begin, directory.size());
  return std::string(as_text(out.bytes()));
}

StoredTensors tensors_of(std::string_view file) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return as_bytes(file).subspan(offset, length);
  };
  const std::vector<ZipMember> members = read_zip_directory(file.size(), view, "file");
  REQUIRE(is_pt_archive(members));
  return read_pt_archive(members, view, "file");
}

// A float32 tensor in data/0 of `elements`, as torch.save pickles it; numbers of one byte.
std::string tensor_call(char offset, std::string_view shape, std::string_view strides,
                        char elements = 6, std::string_view storage = "FloatStorage") {
  return fmt::format(
      "ctorch._utils\n_rebuild_tensor_v2\n((X\7{0}{0}{0}storagectorch\n{1}\nX\1{0}{0}{0}{2}X\3{0}{"
      "0}"
      "{0}cpuK{3}tQK{4}({5}t({6}t\x89"
      "ccollections\nOrderedDict\n)RtR",
      '\0', storage, '0', elements, offset, shape, strides);
}
std::string archive_of(std::string_view value, std::size_t bytes = 24,
                       std::string_view order = "little") {
  return archive_with({{"a/data.pkl", "\x80\2" + std::string(value) + "."},
                       {"a/byteorder", std::string(order)},
                       {"a/data/0", std::string(bytes, 'e')}});
}
Error refusal(const std::string& file) {
  return error_of([&] { (void)tensors_of(file); });
}

TEST_CASE("pt archive: a tensor lies in its storage, by shape, strides and offset") {
  const std::string file = archive_of(tensor_call(2, "K\2K\2", "K\2K\1"));
  const StoredTensor tensor = tensors_of(file).tensors.at(0);
  CHECK(tensor.name.empty());
  CHECK(tensor.obstacle.empty());
  CHECK(tensor.dtype.descr() == "<f4");
  CHECK(tensor.shape == std::vector<std::uint64_t>{2, 2});
  CHECK(tensor.strides.empty());
  CHECK(tensor.offset == file.find(std::string(24, 'e')) + 8);
  CHECK(tensors_of(archive_of(tensor_call(0, "K\2K\3", "K\1K\2"))).tensors.at(0).is_fortran());
  CHECK_FALSE(
      tensors_of(archive_of(tensor_call(0, "K\2", "K\1"), 24, "big")).tensors.at(0).swaps.empty());
}

TEST_CASE("pt archive: a tensor that reaches out of its storage is damage") {
  struct Row {
    char offset;
    std::string_view shape, strides;
  };
  const Row rows[] = {{1, "K\2K\3", "K\3K\1"},
                      {0, "K\7", "K\1"},
                      {0, "K\2", "K\6"},
                      {6, "K\1", "K\1"},
                      {0, "K\2K\2", "K\1"},
                      {0, "J\xff\xff\xff\xff", "K\1"},
                      {0, "K\2", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"}};
  for (const Row& row : rows) {
    CAPTURE(row.shape);
    CHECK(refusal(archive_of(tensor_call(row.offset, row.shape, row.strides))).code() ==
          Code::damaged);
  }
  CHECK(refusal(archive_of(tensor_call(0, "K\2", "K\1"), 23)).code() == Code::damaged);
  // A view that repeats its elements may claim no end of them.
  const std::string_view kHuge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  CHECK(refusal(archive_of(tensor_call(0, kHuge, std::string_view("K\0", 2)))).code() ==
        Code::limit);
}

TEST_CASE("pt archive: dicts and lists are walked, and values that are not tensors are left out") {
  const std::string tensor = tensor_call(0, "K\6", "K\1");
  const std::string zeros(3, '\0');
  const StoredTensors found =
      tensors_of(archive_of("}(X\1" + zeros + "a" + tensor + "X\1" + zeros + "n}(X\1" + zeros +
                            "b](" + tensor + "K\3euX\1" + zeros + "kNu"));
  REQUIRE(found.tensors.size() == 2);
  CHECK(found.tensors[0].name == "a");
  CHECK(found.tensors[1].name == "n.b.0");
  CHECK(found.left_out == std::vector<std::string>{"n.b.1", "k"});
}

TEST_CASE("pt archive: what it cannot be is refused by name") {
  CHECK(refusal(archive_of("cos\nsystem\n)R")).message() ==
        "pickle refers to 'os.system', which is not plain data");
  CHECK(refusal(archive_of(tensor_call(0, "K\6", "K\1", 6, "ComplexHalfStorage"))).message() ==
        "pickle refers to 'torch.ComplexHalfStorage', which is not plain data");
  CHECK(
      tensors_of(archive_of("ctorch._utils\n_rebuild_sparse_tensor\n(tR")).tensors.at(0).obstacle ==
      "is sparse");
  const auto obstacle_with = [](std::string_view metadata) {
    std::string call = tensor_call(0, "K\6", "K\1");
    call.insert(call.size() - 2, metadata);
    return tensors_of(archive_of(call)).tensors.at(0).obstacle;
  };
  const std::string zeros(3, '\0');
  CHECK(obstacle_with("}X\4" + zeros + "conj\x88s") ==
        "is a lazy conjugate; save it with tensor.resolve_conj()");
  CHECK(obstacle_with("}X\3" + zeros + "neg\x88s") ==
        "is a lazy negative; save it with tensor.resolve_neg()");
  CHECK(obstacle_with("}X\3" + zeros + "abs\x88s") ==
        "has the attribute 'abs', which is not supported");
  CHECK(obstacle_with("}X\3" + zeros + "neg\x89s").empty());
  CHECK(obstacle_with("}").empty());
  CHECK(obstacle_with("N").empty());
  CHECK(refusal(archive_of("ctorch._utils\n_rebuild_tensor_v2\n(tR")).code() == Code::damaged);
  CHECK(refusal(archive_with({{"a/data.pkl", "\x80\2" + tensor_call(0, "K\6", "K\1") + "."}}))
            .code() == Code::damaged);
  CHECK(refusal(archive_of(tensor_call(0, "K\6", "K\1"), 24, "middle")).code() == Code::damaged);
  CHECK(is_legacy_pt("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19...."));
}

TEST_CASE("pt archive: what is written is read back, aligned, and has one length for any rows") {
  std::vector<TensorColumn> columns = {{"a", DType::parse("|u1"), {3, 5}},
                                       {"b", DType::parse("<u4"), {3}},
                                       {"c", DType::parse("<c16"), {3, 0}}};
  const PtArchive archive(columns, true);
  std::string file(as_text(archive.front()));
  std::vector<std::uint32_t> crc32s;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string bytes(columns[i].bytes(), static_cast<char>('0' + i));
    crc32s.push_back(crc32(as_bytes(bytes)));
    CHECK(file.size() == archive.header_offset(i));
    file += as_text(archive.header(i, crc32s.back()));
    CHECK(file.size() == archive.data_offset(i));
    CHECK(file.size() % 64 == 0);
    file += bytes;
  }
  file += as_text(archive.trailer(crc32s));
  const StoredTensors found = tensors_of(file);
  REQUIRE(found.tensors.size() == 3);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    CHECK(found.tensors[i].name == columns[i].name);
    CHECK(found.tensors[i].dtype == columns[i].dtype);
    CHECK(found.tensors[i].shape == columns[i].shape);
    CHECK(found.tensors[i].offset == archive.data_offset(i));
    CHECK(found.tensors[i].strides.empty());
  }
  columns.resize(1);
  columns[0].shape[0] = 1'000'000'000'000;
  const PtArchive large(columns, false);
  columns[0].shape[0] = 0;
  CHECK(large.data_offset(0) == PtArchive(columns, false).data_offset(0));
}

}  // namespace
}  // namespace shale
