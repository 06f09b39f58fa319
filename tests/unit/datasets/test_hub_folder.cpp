#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/datasets/hub_folder.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

void put(const TempDir& dir, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    fs::create_directories(fs::path(dir / file).parent_path());
    write_file(dir / file, "x");
  }
}

// "train: a b; test: c"
std::string splits_in(const std::string& folder) {
  std::string text;
  for (const HubSplit& split : splits_of_hub(folder)) {
    text += (text.empty() ? "" : "; ") + split.name + ":";
    for (const std::string& file : split.files) text += " " + file;
  }
  return text;
}

TEST_CASE("hub folder: splits are those that the README names, whatever its files are called") {
  struct Row {
    std::string yaml, splits;
  };
  const Row rows[] = {
      {"configs:\n- config_name: default\n  data_files:\n  - split: a\n    path: x/one*\n"
       "  - split: b\n    path: [x/two-2.parquet, \"**/two-1*\"]\n",
       "a: x/one-1.parquet x/one-10.parquet; b: x/two-2.parquet x/two-1.parquet"},
      {"configs:\n- config_name: q\n  data_files: \"**\"\n",
       "train: deep/er/z.parquet x/one-1.parquet x/one-10.parquet x/two-1.parquet x/two-2.parquet"},
      {"configs:\n- data_files: {v: 'deep/**/z.parquet'}\n", "v: deep/er/z.parquet"},
      {"configs:\n- data_dir: deep\n  data_files:\n  - {split: v, path: '*/z.parquet'}\n",
       "v: deep/er/z.parquet"},
      {"configs:\n- config_name: p\n  data_files: x/one-1*\n- config_name: q\n  default: true\n"
       "  data_files: x/two-1*\n",
       "train: x/two-1.parquet"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.yaml);
    const TempDir dir;
    put(dir, {"x/one-1.parquet", "x/one-10.parquet", "x/two-1.parquet", "x/two-2.parquet",
              "deep/er/z.parquet"});
    write_file(dir / "README.md", "---\r\n" + row.yaml + "---\n# Title\n");
    CHECK(splits_in(dir.path()) == row.splits);
  }
}

TEST_CASE("hub folder: files of other kinds are not a repository of Parquet files") {
  const TempDir dir;
  put(dir, {"a.csv"});
  write_file(dir / "README.md", "---\nconfigs:\n- data_files: '*.csv'\n---\n");
  CHECK(splits_in(dir.path()).empty());
}

TEST_CASE("hub folder: without a README splits are named by files in `data`, or by folders") {
  struct Row {
    std::vector<std::string> files;
    std::string splits;
  };
  const Row rows[] = {
      {{"data/train_gen-00000-of-00001.parquet", "data/train_sft-00000-of-00002.parquet",
        "data/train_sft-00001-of-00002-0123abcd.parquet", "x.json"},
       "train_gen: data/train_gen-00000-of-00001.parquet; "
       "train_sft: data/train_sft-00000-of-00002.parquet "
       "data/train_sft-00001-of-00002-0123abcd.parquet"},
      {{"data/train-00000-of-00001.parquet", "data/other.parquet"}, ""},
      {{"data/test/0.parquet", "data/train/10.parquet", "data/train/9.parquet"},
       "test: data/test/0.parquet; train: data/train/9.parquet data/train/10.parquet"},
      {{"train/0000.parquet", "test/0000.parquet", "README.md"},
       "test: test/0000.parquet; train: train/0000.parquet"},
      {{"train/0000.parquet", "test/0000.jpg"}, ""},
      {{"train/0000.parquet", "cats/0000.parquet"}, ""},
  };
  for (const Row& row : rows) {
    const TempDir dir;
    put(dir, row.files);
    CAPTURE(row.files.front());
    std::string found = splits_in(dir.path());
    // Folders come in any order.
    if (found.starts_with("train:") && row.splits.starts_with("test:"))
      found = found.substr(found.find("; ") + 2) + "; " + found.substr(0, found.find("; "));
    CHECK(found == row.splits);
  }
}

TEST_CASE("hub folder: what a README says is refused where it leaves a choice, or is none") {
  struct Row {
    std::string_view yaml, says;
  };
  constexpr Row kRows[] = {
      {"configs:\n- {config_name: en, data_files: en/*}\n- {config_name: fr, data_files: fr/*}\n",
       "names 2 configurations of its files, and none as default: en, fr"},
      {"configs: [\n", "cannot be read"},
      {"configs:\n- data_files: {../x: '*'}\n", "names a split '../x'"},
      {"configs:\n- data_files: {.shale: '*'}\n", "names a split '.shale'"},
      {"configs:\n- data_files:\n  - {split: here, path: a*}\n  - {split: gone, path: y/*}\n",
       "names files 'y/*', and there is none"},
      {"configs:\n- data_files: [a.parquet, b.parquet]\n", "names files 'b.parquet'"},
      {"configs:\n- data_files: nothing\n", "names files 'nothing', and there is none"},
  };
  for (const Row& row : kRows) {
    const TempDir dir;
    put(dir, {"a.parquet"});
    write_file(dir / "README.md", fmt::format("---\n{}---\n", row.yaml));
    const Error error = error_of([&] { (void)splits_of_hub(dir.path()); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find(row.says) != std::string::npos);
    CHECK(error.file() == dir / "README.md");
  }
}

TEST_CASE("hub folder: a pattern with many steps costs no more than the path is long, each") {
  const TempDir dir;
  std::string path = "a", pattern = "**/a";
  for (int i = 0; i < 40; ++i) {
    path += "/a";
    pattern += "/**/a";
  }
  put(dir, {path + ".parquet"});
  write_file(dir / "README.md", "---\nconfigs:\n- data_files: '" + pattern + "b'\n---\n");
  CHECK(error_of([&] { (void)splits_of_hub(dir.path()); }).code() == Code::unsupported);
}

TEST_CASE("hub folder: class names are those of the configuration that a file belongs to") {
  constexpr std::string_view kClasses =
      "- config_name: {}\n  features:\n  - name: label\n    dtype: {{class_label: {{names: "
      "{}}}}}\n";
  const auto info = [&](std::string_view config, std::string_view names) {
    return fmt::format(fmt::runtime(kClasses), config, names);
  };
  const std::string of_two =
      "configs:\n- {config_name: en, data_files: en/*}\n"
      "- {config_name: de, default: true, data_files: de/*}\n";
  const std::string of_default = "configs:\n- config_name: default\n  data_files: '*/*.parquet'\n";
  struct Row {
    std::string info, configs;
    std::vector<std::string> classes;
  };
  const Row rows[] = {
      {info("en", "[A, B]"), of_two, {}},
      {info("en", "[A, B]") + info("de", "[C, D]"), of_two, {"C", "D"}},
      {info("other", "[X, Y]") + info("default", "[cat, dog]"), of_default, {"cat", "dog"}},
      {info("plain", "[cat, dog]"), "", {"cat", "dog"}},
      {info("de", "[cat, dog]") + info("en", "[A, B]"), "", {"cat", "dog"}},
      {info("plain", "[dog, dog]"), "", {}},
      {info("plain", "{'0': cat, '1': }"), "", {}},
      {info("plain", "{'0': cat, '2': dog}"), "", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.info);
    CAPTURE(row.configs);
    const TempDir dir;
    put(dir, {"de/a.parquet", "en/a.parquet"});
    write_file(dir / "README.md",
               fmt::format("---\ndataset_info:\n{}{}---\n", row.info, row.configs));
    Manifest manifest;
    manifest.schema.fields = {{.name = "label", .kind = Kind::integer}};
    add_hub_classes(manifest, dir / "de/a.parquet");
    CHECK(manifest.classes == row.classes);
  }
}

TEST_CASE("hub folder: class names of a README are those of files that have none") {
  const TempDir dir;
  put(dir, {"data/train/a.parquet"});
  write_file(
      dir / "README.md",
      "---\ndataset_info:\n  features:\n  - name: label\n    dtype:\n      class_label:\n"
      "        names:\n          '0': cat\n          '1': \"no\"\n  - name: tags\n"
      "    sequence:\n      class_label:\n        names: [x, y]\n"
      "  - name: objects\n    struct:\n    - name: kind\n      dtype:\n        class_label:\n"
      "          names: [z]\n---\n");
  Manifest manifest;
  manifest.schema.fields = {{.name = "label", .kind = Kind::integer}};
  add_hub_classes(manifest, dir / "data/train/a.parquet");
  CHECK(manifest.classes == std::vector<std::string>{"cat", "no"});
  REQUIRE(manifest.left_out.entries.size() == 2);
  CHECK(manifest.left_out.entries[0].name == "tags");
  CHECK(manifest.left_out.entries[1].name == "objects.kind");

  manifest.classes = {"own"};
  add_hub_classes(manifest, dir / "data/train/a.parquet");
  CHECK(manifest.classes == std::vector<std::string>{"own"});
}

}  // namespace
}  // namespace shale
