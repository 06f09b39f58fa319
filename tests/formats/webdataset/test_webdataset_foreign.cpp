#include <doctest/doctest.h>

#include "shale/base/error.hpp"

#include "formats/webdataset/webdataset_fields.hpp"
#include "formats/webdataset/webdataset_foreign.hpp"
#include "formats/webdataset/webdataset_format.hpp"
#include "tests/support/npy_numbers.hpp"
#include "tests/support/tar_builder.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

struct ReadArchive {
  Survey survey;
  std::vector<IndexRow> rows;
  std::vector<std::string> keys, findings;
};

ReadArchive read_archive(std::string_view bytes, const Parsing& parsing = {},
                         bool salvages = false) {
  const TempDir dir;
  write_file(dir / "a.tar", bytes);
  std::vector<InputFile> files;
  files.emplace_back(dir / "a.tar");
  const Format& format = webdataset_format;
  ReadArchive read;
  read.survey = (salvages ? format.salvage : format.survey)(files[0], parsing, {});
  const ShardInput input{.files = files,
                         .schema = read.survey.schema,
                         .layout = read.survey.layout,
                         .reads_payload = true,
                         .lost = salvages ? &read.survey.lost : nullptr};
  format.scan(
      input, OptionSet(format.options),
      [&](const IndexRow& row) {
        read.rows.push_back(row);
        if (row.key.offset != kMissing)
          read.keys.emplace_back(bytes.substr(row.key.offset, row.key.length));
      },
      [&](const Finding& finding) { read.findings.push_back(finding.message); });
  return read;
}

std::string fields_of(const Survey& survey) {
  std::string text;
  for (const Field& field : survey.schema.fields) {
    text += (text.empty() ? "" : " ") + field.name + ":" +
            std::string(field.is_json ? "json" : name_of(field.kind));
    for (const std::uint64_t side : field.shape)
      text += side == kFreeSide ? "(?)" : "(" + std::to_string(side) + ")";
    if (field.is_optional) text += "?";
  }
  return text;
}

int bid_of(const std::string& bytes) {
  const TempDir dir;
  write_file(dir / "a.tar", bytes);
  const InputFile file(dir / "a.tar");
  return bid_for_samples_in_tar({file.path(),
                                 as_bytes(bytes).first(std::min<std::size_t>(4096, bytes.size())),
                                 file.size(), &file});
}

TEST_CASE("WebDataset archive: extensions become fields by what all members hold") {
  struct Row {
    std::string_view first, first_data, second, second_data, fields;
  };
  constexpr Row kRows[] = {
      {"jpg", "x", "jpg", "y", "image:bytes"},
      {"jpg", "x", "PNG", "y", "image:bytes"},
      {"cls", "7", "cls", " -1\n", "label:integer"},
      {"cls", "7", "cls", "cat", "label:bytes"},
      {"txt", "a", "txt", "\xc3\xa4", "txt:text"},
      {"txt", "a", "txt", "\xff", "txt:bytes"},
      {"json", "{}", "json", "[1]", "json:json"},
      {"json", "{}", "json", "{", "json:text"},
      {"seg.png", "x", "seg.png", "y", "seg:bytes"},
      {"seg.png", "x", "seg.json", "{}", "seg_json:json? seg_png:bytes?"},
      {"image.png", "x", "jpg", "y", "image:bytes? image_png:bytes?"},
      {"label.cls", "1", "label", "y", "label:bytes? label_cls:integer?"},
      {"a.b.txt", "x", "a.b.txt", "y", "a_b_txt:text"},
      {"jpg.txt", "x", "jpg", "y", "image:bytes? jpg_txt:text?"},
      {"index", "x", "index", "y", "index_:bytes"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.first);
    CAPTURE(row.second);
    TarBuilder tar;
    tar.add("d/0." + std::string(row.first), row.first_data);
    tar.add("d/1." + std::string(row.second), row.second_data);
    const ReadArchive read = read_archive(tar.whole());
    CHECK(fields_of(read.survey) == row.fields);
    CHECK(read.keys == std::vector<std::string>{"d/0", "d/1"});
    CHECK(read.findings.empty());
  }
}

TEST_CASE("WebDataset archive: two images in one sample are fields of their own") {
  TarBuilder tar;
  tar.add("0.jpg", "x").add("0.png", "y").add("1.jpg", "z");
  const ReadArchive read = read_archive(tar.whole());
  CHECK(fields_of(read.survey) == "jpg:bytes png:bytes?");
  CHECK(read.rows.at(1).cells.at(1).place.offset == kMissing);
  CHECK(fields_of(read_archive(tar.whole(), Dialect::plain).survey) == "jpg:bytes png:bytes?");
}

TEST_CASE("WebDataset archive: names by PAX, of GNU and in two pieces") {
  const std::string folder(120, 'd'), path = folder + "/0.cls";
  const std::string line = " path=" + path + "\n";
  TarBuilder tar;
  tar.add("PaxHeader", std::to_string(line.size() + 3) + line, 'x').add("short", "1");
  tar.add("././@LongLink", folder + "/1.cls" + std::string(1, '\0'), 'L').add("other", "2");
  const ReadArchive read = read_archive(tar.whole());
  CHECK(read.keys == std::vector<std::string>{folder + "/0", folder + "/1"});
  CHECK(read.rows.at(0).cells.at(0).integer == 1);
  CHECK(read.rows.at(1).record_offset == read.rows.at(0).record_length);
  CHECK(read.findings.empty());
}

TEST_CASE(
    "WebDataset archive: members that are no value or not in one place are counted and named") {
  TarBuilder tar;
  tar.add("0.txt", "a").add("0.txt", "b").add("1.txt", "c").add("0.json", "{}");
  tar.add("._1.txt", "x").add("README", "x").add("2.txt", "", '2', "1.txt").add("3.txt", "", '3');
  const ReadArchive read = read_archive(tar.whole());
  CHECK(read.keys == std::vector<std::string>{"0", "1", "0"});
  CHECK(read.rows.at(0).cells.at(1).place.offset == 1536);  // the last one of its name
  std::string notes;
  for (const std::string& note : read.survey.notes) notes += note + "\n";
  CHECK(notes ==
        "1 member is there twice in its sample, and only the last one counts ('0.txt')\n"
        "1 sample has the key of another that is not beside it ('0')\n"
        "1 link is left out ('2.txt')\n"
        "1 device or FIFO is left out ('3.txt')\n"
        "1 hidden member is ignored ('._1.txt')\n"
        "1 member without an extension is ignored ('README')\n");
  CHECK(left_out_text(read.survey.left_out) ==
        "member '0.txt' (doubled), member '2.txt' (link), member '3.txt' (special)");
}

TEST_CASE(
    "WebDataset archive: a million members in a sample cost no memory, extensions are limited") {
  TarBuilder same, others;
  for (int i = 0; i < 5000; ++i) same.add("0.txt", "");
  CHECK(read_archive(same.whole()).rows.size() == 1);
  for (int i = 0; i < 1025; ++i) others.add("0." + std::to_string(i), "");
  const Error error = error_of([&] { (void)read_archive(others.whole()); });
  CHECK(error.code() == Code::unsupported);
}

TEST_CASE("WebDataset archive: what webdataset passes over is no sample") {
  TarBuilder tar;
  tar.add("0.txt", "x");
  for (const char* name : {"____/1.txt", "__a__/2.txt", "__3__.txt/4.txt", "__5__", "6.", "7"})
    tar.add(name, "y");
  const ReadArchive read = read_archive(tar.whole());
  CHECK(read.keys == std::vector<std::string>{"0", "__3__.txt/4"});
}

TEST_CASE("WebDataset archive: a sample whose members are damaged is the only one that is lost") {
  TarBuilder tar;
  for (int i = 0; i < 9; ++i)
    tar.add(std::to_string(i) + ".cls", std::to_string(i)).add(std::to_string(i) + ".txt", "x");
  const auto keys_of_damaged = [&](std::size_t at) {
    std::string bytes = tar.whole();
    for (std::size_t i = 0; i < 16; ++i) bytes[at + i] ^= 0x55;
    const ReadArchive plain = read_archive(bytes);
    CHECK(plain.findings.size() == 1);
    std::string keys;
    for (const std::string& key : read_archive(bytes, {}, true).keys) keys += key;
    return keys;
  };
  CHECK(keys_of_damaged(4 * 2048) == "01235678");         // its first header
  CHECK(keys_of_damaged(4 * 2048 + 1024) == "01235678");  // its second
  std::string cut = tar.whole().substr(0, 8 * 2048 + 1500);
  CHECK(read_archive(cut, {}, true).keys.size() == 8);
  CHECK(read_archive(cut).findings.size() == 1);
}

TEST_CASE("WebDataset archive: it is one if two members beside each other have one key") {
  TarBuilder pairs, folders, classes, single;
  pairs.add("./", "", '5').add("./0.jpg", "x").add("./0.txt", "y");
  folders.add("a/", "", '5').add("a/0.jpg", "x").add("a/0.txt", "y");
  classes.add("a/", "", '5').add("a/0.jpg", "x").add("a/0.cls", "1");
  single.add("0.jpg", "x").add("1.jpg", "y");
  CHECK(bid_of(pairs.whole()) > 0);
  CHECK(bid_of(folders.whole()) == 0);
  CHECK(bid_of(classes.whole()) > 0);
  CHECK(bid_of(single.whole()) == 0);
}

TEST_CASE("WebDataset archive: what is not read is refused by name") {
  TarBuilder sparse, long_name, joined, negative;
  sparse.add("0.txt", "x").add("1.txt", "", 'S');
  CHECK(error_of([&] { (void)read_archive(sparse.whole()); }).message() ==
        "member 1.txt is a sparse file, which is not supported");
  long_name.add("0.txt", "x").add("x", std::string(70000, 'n') + ".txt", 'L').add("y", "");
  CHECK(error_of([&] { (void)read_archive(long_name.whole()); }).code() == Code::limit);
  joined.add("0.txt", "x");
  CHECK(error_of([&] { (void)read_archive(joined.whole() + joined.whole()); }).code() ==
        Code::unsupported);
  negative.add("0.txt", "x").add("1.txt", "x", '0', "", 1 << 30);
  CHECK(read_archive(negative.whole()).findings.size() == 1);
}

}  // namespace
}  // namespace shale
