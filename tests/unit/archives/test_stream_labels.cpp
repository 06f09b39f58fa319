#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/archives/stream_labels.hpp"
#include "shale/base/error.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A file of labels, and a request that names it.
struct LabelsOfStream {
  explicit LabelsOfStream(const std::string& rows) { write_file(dir / "labels.csv", rows); }

  [[nodiscard]] FolderRequest request() const {
    return {.root = "x.tgz",
            .labels = {.path = dir / "labels.csv"},
            .scratch_folder = dir.path(),
            .memory_bytes = 4 << 20};
  }

  TempDir dir;
  SoughtFiles sought{""};
};

TEST_CASE("stream labels: each file is looked up by name, in any order") {
  std::string rows;
  for (int i = 0; i < 1000; ++i) rows += fmt::format("{}.png,{}\n", i, i % 7);
  const LabelsOfStream file(rows);
  StreamLabels labels(file.request(), file.sought, "x.tgz");
  for (int i = 999; i >= 0; --i) CHECK(labels.label_of(fmt::format("d/{}.png", i), 1) == i % 7);
  CHECK(labels.label_of("d/1000.png", 1) == std::nullopt);
  labels.finish([](const std::string&) { FAIL("every row has its file"); });
  CHECK(labels.notes().size() == 1);
}

TEST_CASE("stream labels: rows without a file are told at the end, and names make a table") {
  const LabelsOfStream file("b.png,dog\na.png,cat\nc.png,ant\n");
  StreamLabels labels(file.request(), file.sought, "x.tgz");
  CHECK(labels.class_names() == std::vector<std::string>{"ant", "cat", "dog"});
  CHECK(labels.label_of("b.png", 1) == 2);
  std::vector<std::string> unmatched;
  labels.finish([&](const std::string& key) { unmatched.push_back(key); });
  CHECK(unmatched == std::vector<std::string>{"a.png", "c.png"});
  CHECK(labels.notes().empty());
}

TEST_CASE("stream labels: the digest is of the rows, in whatever order the file has them") {
  const LabelsOfStream one("a.png,1\nb.png,2\n"), same("b.png,2\na.png,1\n"),
      other("a.png,1\nb.png,3\n");
  const auto digest_of = [](const LabelsOfStream& file) {
    return StreamLabels(file.request(), file.sought, "x.tgz").digest();
  };
  CHECK(digest_of(one) == digest_of(same));
  CHECK(digest_of(one) != digest_of(other));
}

TEST_CASE("stream labels: a file without row is an error where the request says so") {
  const LabelsOfStream file("a.png,1\n");
  FolderRequest request = file.request();
  request.files.refuses_incomplete = true;
  StreamLabels labels(request, file.sought, "x.tgz");
  const Error error = error_of([&] { (void)labels.label_of("z.png", 1); });
  CHECK(error.code() == Code::bad_content);
  CHECK(error.file() == "x.tgz/z.png");
}

TEST_CASE("stream labels: a file without rows, and one with an unknown header, are refused") {
  const LabelsOfStream none("path,label\n"), header("ID,Animal\na,cat\n"),
      with_suffixes("id,file,species\n1,a.png,cat\n");
  CHECK(error_of([&] { StreamLabels(none.request(), none.sought, "x.tgz"); }).code() ==
        Code::bad_content);
  CHECK(error_of([&] { StreamLabels(with_suffixes.request(), header.sought, "x.tgz"); }).code() ==
        Code::bad_content);
  StreamLabels labels(header.request(), header.sought, "x.tgz");
  CHECK(labels.label_of("a.png", 1).has_value());
  CHECK(error_of([&] { labels.finish([](const std::string&) {}); }).code() == Code::bad_content);
}

}  // namespace
}  // namespace shale
