#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/data/field_type.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/format/list_elements.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

struct MetadataFolder {
  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir.path() + "/" + name, std::ios::binary) << text;
  }
  // The rows of the file, joined with samples of these paths.
  void join(const std::string& name, const std::vector<std::string>& samples) {
    rows.emplace(MetadataRows::Request{.root = dir.path(), .scratch_folder = dir.path()});
    rows->add_file("", name);
    rows->read([this](std::string_view, std::string_view other) { others.emplace_back(other); });
    for (const std::string& sample : samples) rows->add_sample(sample);
    if (rows->has_files()) rows->match([this](const std::string& row) { unused.push_back(row); });
  }
  std::string error(const std::string& name, const std::string& text) {
    write(name, text);
    try {
      join(name, {"a.png", "b.png"});
    } catch (const Error& error) {
      return std::string(error.message()) + "; " + std::string(error.hint());
    }
    return "none";
  }
  // The cells of the next sample, as its source gives them.
  PendingSample next() {
    ListedFile file;
    rows->next(file);
    PendingSample sample;
    if (!file.has_label) return sample;
    sample.cells.resize(1 + rows->fields().size());
    sample.cells[0].integer = file.label;
    take_metadata_row(file.row, rows->fields(), sample);
    return sample;
  }
  TempDir dir;
  std::optional<MetadataRows> rows;
  std::vector<std::string> others, unused;
};

std::vector<std::string> fields_in(const MetadataRows& rows) {
  std::vector<std::string> texts;
  for (const Field& field : rows.fields())
    texts.push_back(field.name + ":" + field_type_text(field));
  return texts;
}

using Texts = std::vector<std::string>;

TEST_CASE("metadata: columns of CSV are text, quoted ones too, in the order of the samples") {
  MetadataFolder folder;
  folder.write("metadata.csv",
               "\xef\xbb\xbf"
               "file_name,caption,score\nb.png,\"two, with\nline end\",2\n./a.png,,1.5\n");
  folder.join("metadata.csv", {"a.png", "b.png"});
  CHECK(fields_in(*folder.rows) == Texts{"caption:text", "score:text"});
  const PendingSample first = folder.next(), second = folder.next();
  CHECK(first.known[0].bytes.empty());
  CHECK(first.known[1].bytes == "1.5");
  CHECK(second.known[0].bytes == "two, with\nline end");
}

TEST_CASE("metadata: JSON lines have kinds, and an integer beside a real is real") {
  MetadataFolder folder;
  folder.write("metadata.jsonl",
               "{\"file_name\": \"a.png\", \"s\": \"x\\u00e9\", \"i\": -7, \"r\": 2, \"b\": true, "
               "\"n\": {\"k\": [1, 2]}}\n\n"
               "{\"n\": [], \"file_name\": \"b.png\", \"s\": \"\", \"i\": 9223372036854775807, "
               "\"r\": 0.5, \"b\": false}\n");
  folder.join("metadata.jsonl", {"a.png", "b.png"});
  CHECK(fields_in(*folder.rows) == Texts{"s:text", "i:integer", "r:real", "b:text", "n:json"});
  const PendingSample first = folder.next(), second = folder.next();
  CHECK(first.known[0].bytes == "x\u00e9");
  CHECK(first.cells[2].integer == -7);
  CHECK(first.cells[3].real == 2.0);
  CHECK(first.known[1].bytes == "true");
  CHECK(first.known[2].bytes == "{\"k\": [1, 2]}");
  CHECK(second.cells[2].integer == 9223372036854775807);
  CHECK(second.cells[3].real == 0.5);
}

TEST_CASE("metadata: integers that a double holds stand beside reals, however large") {
  MetadataFolder folder;
  folder.write("metadata.jsonl",
               "{\"file_name\": \"a.png\", \"r\": -9007199254740992}\n"
               "{\"file_name\": \"b.png\", \"r\": 100000000000000000000}\n"
               "{\"file_name\": \"c.png\", \"r\": 1e-1}\n");
  folder.join("metadata.jsonl", {"a.png", "b.png", "c.png"});
  CHECK(fields_in(*folder.rows) == Texts{"r:real"});
  CHECK(folder.next().cells[1].real == -9007199254740992.0);
  CHECK(folder.next().cells[1].real == 1e20);
}

TEST_CASE("metadata: names are classes of the samples that have a row, integers are labels") {
  MetadataFolder folder;
  folder.write("metadata.csv", "file_name,label\na.png,dog\nb.png, cat\nnone.png,bird\n");
  folder.join("metadata.csv", {"a.png", "b.png"});
  CHECK_FALSE(folder.rows->has_numbers());
  CHECK(folder.rows->class_names() == Texts{"cat", "dog"});
  CHECK(folder.unused == Texts{"metadata.csv:4"});
  folder.rows->use_table(ClassTable({"cat", "dog"}, "here", 1 << 20));
  CHECK(folder.next().cells[0].integer == 1);
  CHECK(folder.next().cells[0].integer == 0);

  folder.write("metadata.csv", "file_name,label\na.png,7\nb.png,-3\n");
  folder.join("metadata.csv", {"a.png", "b.png"});
  CHECK(folder.rows->has_numbers());
  CHECK(folder.next().cells[0].integer == 7);
  CHECK(folder.next().cells[0].integer == -3);
}

TEST_CASE("metadata: lists are tensors and lists of text, whatever else differs is JSON") {
  struct Row {
    std::string first, second, type;
  };
  for (const Row& row : std::vector<Row>{
           {"[1, 2]", "[]", "int64 (?)"},
           {"[1]", "[0.5, 2]", "float64 (?)"},
           {"[[1, 2, 3, 4]]", "[]", "int64 (?, 4)"},
           {"[[1, 2.5]]", "[[3, 4], [5, 6]]", "float64 (?, 2)"},
           {"[[1]]", "[[1, 2]]", "int64 (?, ?)"},
           {"[\"a\"]", "[]", "list of text"},
           {"[\"a\"]", "[1]", "json"},
           {"[1]", "[[1]]", "json"},
           {"[]", "[]", "json"},
           {"[1]", "{}", "json"},
           {"[1]", "true", "json"},
           {"[1, null]", "[1]", "json"},
           {"[0.5]", "[9007199254740993]", "json"},
           {"true", "false", "text"},
           {"[1]", "null", "int64 (?)?"},
           {"{\"a\": 1}", "null", "json?"},
           {"7", "null", "integer?"},
       }) {
    CAPTURE(row.first);
    CAPTURE(row.second);
    MetadataFolder folder;
    folder.write("metadata.jsonl", "{\"file_name\": \"a.png\", \"c\": " + row.first +
                                       "}\n{\"file_name\": \"b.png\", \"c\": " + row.second +
                                       "}\n");
    folder.join("metadata.jsonl", {"a.png", "b.png"});
    CHECK(fields_in(*folder.rows) == Texts{"c:" + row.type});
    for (int sample = 0; sample < 2; ++sample) CHECK(folder.next().cells.size() == 2);
  }
}

TEST_CASE("metadata: values of lists are those of the file, and an absent one says so") {
  MetadataFolder folder;
  folder.write("metadata.jsonl",
               "{\"file_name\": \"a.png\", \"n\": 7, \"boxes\": [[1, 2.5], [3, 4]], \"words\": "
               "[\"a\", \"\", \"\u00e9\"]}\n{\"file_name\": \"b.png\", \"boxes\": [], \"words\": "
               "null}\n");
  folder.join("metadata.jsonl", {"a.png", "b.png"});
  REQUIRE(fields_in(*folder.rows) ==
          Texts{"n:integer?", "boxes:float64 (?, 2)", "words:list of text?"});
  const PendingSample first = folder.next(), second = folder.next();
  CHECK(first.cells[1].integer == 7);
  CHECK(!first.cells[1].lacks_number);
  CHECK(first.sides == std::vector<std::uint64_t>{2, 2});
  const std::vector<double> boxes = {1, 2.5, 3, 4};
  REQUIRE(first.known.size() == 2);
  CHECK(as_bytes(first.known[0].bytes).size() == 32);
  CHECK(first.known[0].bytes == as_text(std::as_bytes(std::span(boxes))));
  const std::vector<Bytes> words = elements_of_known(as_bytes(first.known[1].bytes));
  REQUIRE(words.size() == 3);
  CHECK(as_text(words[2]) == "\u00e9");
  CHECK(first.cells[3].place.count == 3);
  CHECK(first.cells[3].place.length == 3);
  CHECK(second.cells[1].lacks_number);
  CHECK(second.sides == std::vector<std::uint64_t>{0, 2});
  CHECK(second.cells[2].place == FieldPlace{.offset = 0});
  CHECK(second.cells[3].place.offset == kMissing);
}

TEST_CASE("metadata: a sample without row, or whose row lacks the label, has none") {
  MetadataFolder folder;
  folder.write("metadata.jsonl",
               "{\"file_name\": \"a.png\", \"label\": null}\n{\"file_name\": \"b.png\"}\n"
               "{\"file_name\": \"d.png\", \"label\": 7}\n");
  folder.join("metadata.jsonl", {"a.png", "b.png", "c.png", "d.png"});
  CHECK(folder.next().cells.empty());
  CHECK(folder.next().cells.empty());
  CHECK(folder.next().cells.empty());
  CHECK(folder.next().cells.size() == 1);
}

TEST_CASE("metadata: an empty cell of CSV is no label") {
  MetadataFolder folder;
  folder.write("metadata.csv", "file_name,label\na.png,\nb.png,7\n");
  folder.join("metadata.csv", {"a.png", "b.png"});
  CHECK(folder.next().cells.empty());
  CHECK(folder.next().cells.size() == 1);
}

TEST_CASE("metadata: names that are taken become others") {
  CHECK(metadata_field_name("caption", "image") == "caption");
  CHECK(metadata_field_name("key", "image") == "key_column");
  CHECK(metadata_field_name("image", "image") == "image_column");
  CHECK(metadata_field_name("a.b/c", "image") == "a_b_c");
}

TEST_CASE("metadata: a file without file_name is another file") {
  MetadataFolder folder;
  folder.write("metadata.csv", "name,caption\na.png,x\n\"");
  folder.join("metadata.csv", {"a.png"});
  CHECK_FALSE(folder.rows->has_files());
  CHECK(folder.others == Texts{"metadata.csv"});
  CHECK(folder.rows->notes().front().ends_with("has no column file_name: ignored"));
}

TEST_CASE("metadata: what cannot be right is an error that names the row") {
  struct Row {
    std::string name, text, message;
  };
  const std::string csv = "metadata.csv", json = "metadata.jsonl",
                    x = "{\"file_name\": \"a.png\", ";
  for (const Row& row : std::vector<Row>{
           {csv, "file_name,c\na.png,1\n./a.png,2\n",
            "row 3 is of the same file as metadata.csv:2"},
           {csv, "file_name,c\n../a.png,1\n",
            "row 2 has the file_name '../a.png', which leads out"},
           {csv, "file_name,c\n/a.png,1\n", "row 2 has the file_name '/a.png', which is absolute"},
           {csv, "file_name,c\n.,1\n", "row 2 has the file_name '.', which names no file"},
           {csv, "file_name,c\na.png\n", "row 2 has 1 field, expected 2"},
           {csv, "file_name,c,c\na.png,1,2\n", "row 1 has two columns 'c'"},
           {csv, ",file_name\n0,a.png\n", "row 1 has no name for column 1"},
           {csv, "file_name,c\n", "has no rows"},
           {csv, "file_name,c\nz.png,1\n", "no file_name is that of a file here"},
           {csv, "file_name,a.b,a_b\na.png,1,2\n", "both become the field 'a_b'"},
           {csv, "file_name,label\na.png,1\nb.png,x\n",
            "row 3 has the label 'x', but metadata.csv:2"},
           {csv, "file_name,label\na.png,1.5\n", "row 2 has the label '1.5', a number that is not"},
           {json, x + "\"c\": 1}\n" + x + "\"c\": \"x\"}\n", "line 2 has a string as 'c'"},
           {json, x + "\"c\": 1}\n" + x + "\"c\": [1]}\n", "line 2 has true, false, a list"},
           {json, x + "\"c\": 9223372036854775808}\n",
            "line 1 has an integer of more than 64 bits"},
           {json, x + "\"c\": 0.5}\n" + x + "\"c\": 9007199254740993}\n",
            "line 2 has an integer as 'c' that no double is, but metadata.jsonl:1"},
           {csv, "file_name,c\na.png,1\n" + std::string(5000, 'x') + ",2\n",
            "metadata.csv:3 has a file_name of 5000 bytes"},
           {json, x + "\"label\": true}\n", "line 1 has a label that is"},
           {json, x + "\"c\": 1}\n{\"c\": 1}\n", "line 2 has no 'file_name'"},
           {json, "{\"file_name\": 7}\n", "line 1 has a file_name that is"}}) {
    CAPTURE(row.text);
    const std::string found = MetadataFolder().error(row.name, row.text);
    CHECK_MESSAGE(found.find(row.message) != std::string::npos, found);
  }
}

TEST_CASE("metadata: two files in one folder are an error, two of one image in two folders too") {
  MetadataFolder folder;
  folder.write("metadata.csv", "file_name\na.png\n");
  folder.write("metadata.jsonl", "{\"file_name\": \"a.png\"}\n");
  MetadataRows rows({.root = folder.dir.path(), .scratch_folder = folder.dir.path()});
  rows.add_file("", "metadata.csv");
  rows.add_file("", "metadata.jsonl");
  CHECK_THROWS_WITH_AS(rows.read([](std::string_view, std::string_view) {}),
                       doctest::Contains("lies in one folder with metadata.csv"), Error);
}

}  // namespace
}  // namespace shale
