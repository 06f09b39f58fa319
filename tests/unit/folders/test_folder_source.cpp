#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/folders/folder_source.hpp"
#include "shale/io/file_stamp.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Files that hold their own names; those that end in a slash are folders.
struct Folder {
  explicit Folder(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      std::filesystem::create_directories(dir / "in");
      if (name.ends_with('/'))
        std::filesystem::create_directories(dir / ("in/" + name));
      else
        write_file(dir / ("in/" + name), name);
    }
  }
  [[nodiscard]] FolderRequest request() const {
    FolderRequest request;
    request.root = dir / "in";
    request.scratch_folder = dir.path();
    return request;
  }
  TempDir dir;
};

using Samples = std::vector<std::pair<std::string, std::int64_t>>;

Samples samples_of(const FolderRequest& request, std::optional<std::uint64_t> seed = {}) {
  const std::unique_ptr<OrderableSource> source = open_folder(request);
  if (seed) source->put_in_order({.seed = seed});
  Samples samples;
  while (const auto sample = source->next(1)) {
    CHECK(sample->bytes == std::filesystem::file_size(sample->files.front().path));
    samples.emplace_back(sample->key, sample->cells[1].integer);
  }
  CHECK(samples.size() == source->info().manifest.samples);
  return samples;
}

Error refusal(const FolderRequest& request) {
  return error_of([&] { (void)open_folder(request); });
}

TEST_CASE("folder source: classes come bytewise, then folders, then files, and labels count them") {
  const Folder folder({"b/2.jpg", "b/10.jpg", "B/x.PNG", "b/sub/0.jpg", "a b/1.jpeg", "b/no.txt"});
  CHECK(
      samples_of(folder.request()) ==
      Samples{
          {"B/x.PNG", 0}, {"a b/1.jpeg", 1}, {"b/10.jpg", 2}, {"b/2.jpg", 2}, {"b/sub/0.jpg", 2}});
}

TEST_CASE("folder source: what is known before the first sample") {
  const Folder folder({"a/1.jpg", "b/longest.jpg", "b/note.txt", "loose.jpg"});
  const std::unique_ptr<Source> source = open_folder(folder.request());
  const SourceInfo& info = source->info();
  CHECK(info.classes == std::vector<std::string>{"a", "b"});
  CHECK(info.manifest.samples == 2);
  CHECK(info.manifest.bytes == std::string("a/1.jpg"
                                           "b/longest.jpg")
                                   .size());
  CHECK(info.largest->key == "b/longest.jpg");
  CHECK(info.labels_are_sorted);
  std::vector<std::string> ignored;
  source->list_ignored([&](std::string_view name, auto) { ignored.emplace_back(name); });
  CHECK(ignored == std::vector<std::string>{"b/note.txt", "loose.jpg"});
  CHECK(info.ignored == 2);
}

TEST_CASE("folder source: the fingerprint is that of names and sizes") {
  const auto fingerprint = [](const std::vector<std::string>& names, std::string_view first) {
    const Folder folder(names);
    write_file(folder.dir / ("in/" + names[0]), first);
    return open_folder(folder.request())->info().manifest.fingerprint;
  };
  const Hash128 was = fingerprint({"a/1.jpg", "b/2.jpg"}, "123");
  CHECK(fingerprint({"a/1.jpg", "b/2.jpg"}, "456") == was);
  CHECK(fingerprint({"a/1.jpg", "b/2.jpg"}, "1234") != was);
  CHECK(fingerprint({"a/1.jpg", "b/3.jpg"}, "123") != was);
  CHECK(fingerprint({"a/1.jpg", "b/2.jpg", "b/3.jpg"}, "123") != was);
}

TEST_CASE("folder source: what is no folder of classes is refused where it is") {
  struct Row {
    std::vector<std::string> names;
    std::string where;
  };
  const Row rows[] = {{{"a/"}, "in/a"},
                      {{"a/1.jpg", "b/note.txt"}, "in/b"},
                      {{"1.jpg"}, "in"},
                      {{"note.txt"}, "in"},
                      {{"train/1.jpg", "val/1.jpg"}, "in"},
                      {{"a/1.jpg", ".b/1.jpg"}, "in/.b"}};
  for (const Row& row : rows) {
    CAPTURE(row.names[0]);
    const Folder folder(row.names);
    const Error error = refusal(folder.request());
    CHECK(error.code() == Code::bad_content);
    CHECK(error.file() == folder.dir / row.where);
  }
  const Folder nothing({});
  CHECK(refusal(nothing.request()).code() == Code::not_found);
}

TEST_CASE("folder source: empty classes and hidden ones are taken where that is asked for") {
  const Folder folder({"a/1.jpg", ".b/1.jpg", "c/"});
  FolderRequest request = folder.request();
  request.files.allow_empty = true;
  request.files.hidden = HiddenPolicy::skip;
  CHECK(samples_of(request) == Samples{{"a/1.jpg", 0}});
  request.files.hidden = HiddenPolicy::keep;
  CHECK(samples_of(request) == Samples{{".b/1.jpg", 0}, {"a/1.jpg", 1}});
}

TEST_CASE("folder source: labels of a file go to the images that they name") {
  const Folder folder({"2.jpg", "sub/1.jpg"});
  FolderRequest request = folder.request();
  request.labels.path = folder.dir / "labels.csv";
  write_file(request.labels.path, "path,label\nsub/1.jpg,7\n2.jpg,-1\n");
  CHECK(samples_of(request) == Samples{{"2.jpg", -1}, {"sub/1.jpg", 7}});
  write_file(request.labels.path, "sub/1.jpg,dog\n2.jpg,cat\n");
  CHECK(samples_of(request) == Samples{{"2.jpg", 0}, {"sub/1.jpg", 1}});
}

TEST_CASE("folder source: an image without label lacks it, and a label without image is ignored") {
  const Folder folder({"1.jpg", "2.jpg"});
  FolderRequest request = folder.request();
  request.labels.path = folder.dir / "labels.csv";
  write_file(request.labels.path, "1.jpg,7\n3.jpg,8\n");
  const std::unique_ptr<Source> source = open_folder(request);
  CHECK(source->info().ignored == 1);
  CHECK(source->next(1)->lacks.empty());
  CHECK(source->next(1)->lacks == "row in labels.csv");
}

TEST_CASE("folder source: rows without an image give no classes") {
  const Folder folder({"1.jpg", "2.jpg"});
  FolderRequest request = folder.request();
  request.labels.path = folder.dir / "labels.csv";
  write_file(request.labels.path, "0.jpg,ant\n1.jpg,dog\n2.jpg,cat\n3.jpg,bee\n");
  CHECK(open_folder(request)->info().classes == std::vector<std::string>{"cat", "dog"});
  CHECK(samples_of(request) == Samples{{"1.jpg", 1}, {"2.jpg", 0}});
}

TEST_CASE("folder source: a header with unknown names is refused, and a row like one is not") {
  const Folder folder({"1.jpg", "2.jpg"});
  FolderRequest request = folder.request();
  request.labels.path = folder.dir / "labels.csv";
  const auto is_refused = [&](const std::string& rows) {
    write_file(request.labels.path, rows);
    try {
      (void)open_folder(request);
    } catch (const Error& error) {
      CHECK(error.file() == request.labels.path);
      return error.hint().find("--key-column 'id'") != std::string::npos;
    }
    return false;
  };
  for (const std::string header : {"id,breed\n", "id,Animal\n"}) {
    CHECK(is_refused(header + "1,dog\n2,cat\n"));
    CHECK(is_refused(header + "1,dog\n2,cat\n3,cat\n"));
    CHECK(is_refused(header + "1,7\n2,8\n"));
    // Of paths, the first row can only be a header.
    CHECK_FALSE(is_refused(header + "1.jpg,dog\n2.jpg,cat\n"));
    CHECK(open_folder(request)->info().classes == std::vector<std::string>{"cat", "dog"});
  }
  CHECK_FALSE(is_refused("id,dog\n1,dog\n2,cat\n"));
  CHECK_FALSE(is_refused("0.jpg,ant\n1.jpg,dog\n2.jpg,cat\n"));
  CHECK_FALSE(is_refused("id,3\n1,7\n2,8\n"));
  request.classes.from = folder.dir / "table.txt";
  write_file(request.classes.from, "cat\ndog\n");
  CHECK(is_refused("id,breed\n1,dog\n2,cat\n"));
}

TEST_CASE("folder source: an image without label and a label without image are refused if asked") {
  const Folder folder({"1.jpg", "2.jpg"});
  FolderRequest request = folder.request();
  request.files.refuses_incomplete = true;
  request.labels.path = folder.dir / "labels.csv";
  struct Row {
    std::string text, where;
  };
  const Row rows[] = {{"1.jpg,7\n", "in/2.jpg"},
                      {"2.jpg,7\n", "in/1.jpg"},
                      {"1.jpg,7\n2.jpg,7\n3.jpg,7\n", "labels.csv"},
                      {"0.jpg,7\n1.jpg,7\n2.jpg,7\n", "labels.csv"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    write_file(request.labels.path, row.text);
    const Error error = refusal(request);
    CHECK(error.code() == Code::bad_content);
    CHECK(error.file() == folder.dir / row.where);
  }
}

TEST_CASE("folder source: a table of classes says the labels, and a class not in it is refused") {
  const Folder folder({"b/1.jpg", "c/1.jpg"});
  FolderRequest request = folder.request();
  request.classes.from = folder.dir / "table.txt";
  write_file(request.classes.from, "c\na\nb\n");
  CHECK(samples_of(request) == Samples{{"b/1.jpg", 2}, {"c/1.jpg", 0}});
  write_file(request.classes.from, "a\nb\n");
  CHECK(refusal(request).file() == folder.dir / "in/c");
}

TEST_CASE("folder source: a shuffled one has the same samples, in an order of the seed") {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("a/" + std::to_string(i) + ".jpg");
  const Folder folder(names);
  const FolderRequest request = folder.request();
  Samples plain = samples_of(request);
  Samples one = samples_of(request, 0);
  CHECK(one == samples_of(request, 0));
  CHECK(one != samples_of(request, 1));
  CHECK(one != plain);
  std::sort(one.begin(), one.end());
  std::sort(plain.begin(), plain.end());
  CHECK(one == plain);
}

TEST_CASE("folder source: listing stops when it is asked to") {
  const Folder folder({"a/1.jpg"});
  FolderRequest request = folder.request();
  request.stop_if_asked = [] { throw Error(Code::interrupted, "stopped"); };
  CHECK(refusal(request).code() == Code::interrupted);
}

// What a source says and gives, but for the times of files.
struct Told {
  Samples samples;
  std::vector<std::string> classes, notes, ignored;
  ManifestSource manifest;
  Hash128 labels;
  std::int64_t modified_ns;
};

Told told_by(const FolderRequest& request, bool is_shuffled = false) {
  const std::unique_ptr<OrderableSource> source = open_folder(request);
  if (is_shuffled) source->put_in_order({.seed = 0});
  const SourceInfo& info = source->info();
  Told told{.samples = {},
            .classes = info.classes,
            .notes = info.notes,
            .ignored = {},
            .manifest = info.manifest,
            .labels = info.labels,
            .modified_ns = info.modified_ns};
  while (const auto sample = source->next(1))
    told.samples.emplace_back(sample->key, sample->cells[1].integer);
  source->list_ignored([&](std::string_view entry, std::string_view reason) {
    told.ignored.push_back(std::string(entry) + ": " + std::string(reason));
  });
  return told;
}

TEST_CASE("folder source: a stored listing stands for the walk, in order and shuffled") {
  const Folder folder({"a/1.jpg", "a/s/2.png", "a/note.txt", "b/3.jpg", "b/4.jpg", "loose.jpg"});
  FolderRequest walked = folder.request(), stored = walked;
  for (const bool is_shuffled : {false, true}) {
    CAPTURE(is_shuffled);
    walked.files.listing.written = stored.files.listing.stored = folder.dir / "listing";
    const Told first = told_by(walked, is_shuffled), again = told_by(stored, is_shuffled);
    CHECK(again.samples == first.samples);
    CHECK(again.classes == first.classes);
    CHECK(again.notes == first.notes);
    CHECK(again.ignored == first.ignored);
    CHECK(again.manifest.fingerprint == first.manifest.fingerprint);
    CHECK(again.manifest.bytes == first.manifest.bytes);
    CHECK(again.labels == first.labels);
    CHECK(again.modified_ns == first.modified_ns);
  }
  // What was added since does not show; the walk shows it.
  write_file(folder.dir / "in/a/5.jpg", "x");
  CHECK(told_by(stored).samples.size() == 4);
  CHECK(told_by(folder.request()).samples.size() == 5);
}

TEST_CASE("folder source: files have the time that the walk or the stored listing saw") {
  const Folder folder({"a/1.jpg"});
  FolderRequest request = folder.request();
  request.files.listing.written = folder.dir / "listing";
  const std::int64_t walked = stamp_of(folder.dir / "in/a/1.jpg")->modified_ns;
  CHECK(open_folder(request)->next(1)->files.front().modified_ns == walked);
  std::filesystem::last_write_time(folder.dir / "in/a/1.jpg", {});
  request.files.listing.stored = folder.dir / "listing";
  CHECK(open_folder(request)->next(1)->files.front().modified_ns == walked);
}

TEST_CASE("folder source: a listing that was asked for otherwise does not stand for the walk") {
  const Folder folder({"a/1.jpg", "b/2.jpg"});
  FolderRequest request = folder.request();
  request.classes.from = folder.dir / "table.txt";
  write_file(request.classes.from, "a\nb\n");
  request.files.listing.written = folder.dir / "listing";
  (void)open_folder(request);
  request.files.listing.written.clear();
  request.files.listing.stored = folder.dir / "listing";
  const auto is_used = [](const FolderRequest& asked) {
    return open_folder(asked)->info().manifest.samples == 2;
  };
  write_file(folder.dir / "in/b/3.jpg", "x");
  CHECK(is_used(request));
  FolderRequest other = request;
  other.files.hidden = HiddenPolicy::skip;
  CHECK(!is_used(other));
  other = request;
  other.classes.from.clear();
  CHECK(!is_used(other));
  other = request;
  other.root = folder.dir / "copy";
  std::filesystem::copy(request.root, other.root, std::filesystem::copy_options::recursive);
  CHECK(!is_used(other));
  other = request;
  other.root = folder.dir / "in/../in";
  CHECK(is_used(other));
  write_file(request.classes.from, "a\nb\nc\n");
  CHECK(!is_used(request));
}

TEST_CASE("folder source: skipped samples are passed over") {
  const Folder folder({"a/1.jpg", "a/2.jpg", "a/3.jpg"});
  const std::unique_ptr<Source> source = open_folder(folder.request());
  source->skip(2);
  CHECK(source->next(1)->key == "a/3.jpg");
  CHECK(error_of([&] { source->skip(1); }).code() == Code::bug);
}

}  // namespace
}  // namespace shale
