#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/folders/file_tree.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

// All that a walk tells, in its order, and how it ended.
std::vector<std::string> told_by(const std::string& root, FolderReader* reader,
                                 bool keep_hidden = false) {
  std::vector<std::string> told;
  const WalkOptions options{
      .keep_hidden = keep_hidden,
      .wants_size = [](std::string_view name) { return !name.ends_with(".txt"); },
      .pass_over = [&](std::string_view folder, std::string_view name,
                       PassedOver) { told.push_back(fmt::format("- {}/{}", folder, name)); }};
  const auto visit = [&](const WalkedFile& file) {
    told.push_back(fmt::format("{}/{} {} {}", file.directory, file.name, file.bytes,
                               file.modified_ns > 0 ? "dated" : "undated"));
  };
  try {
    const WalkCounts counts = reader != nullptr ? walk_folder(root, options, visit, *reader)
                                                : walk_folder(root, options, visit);
    told.push_back(fmt::format("{} files, {} folders, {} hidden, {} loops, {} others", counts.files,
                               counts.directories, counts.hidden, counts.cut_loops, counts.other));
  } catch (const Error& error) {
    told.push_back(fmt::format("{} {}", static_cast<int>(error.code()), error.what()));
  }
  return told;
}

std::vector<std::string> told_ahead(const std::string& root, bool keep_hidden = false) {
  FoldersAhead ahead;
  return told_by(root, &ahead, keep_hidden);
}

void make_tree(const std::string& root) {
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 3; ++j)
      write_file(fmt::format("{}/{}/{}/{}.jpg", root, i, j, i * j),
                 std::string(static_cast<std::size_t>(i), 'x'));
    write_file(fmt::format("{}/{}/notes.txt", root, i), "x");
    write_file(fmt::format("{}/{}/.hidden/x.jpg", root, i), "x");
  }
  // More than some parts of a folder.
  for (int i = 0; i < 6000; ++i)
    write_file(fmt::format("{}/large/{}.{}", root, i, i % 7 == 0 ? "txt" : "jpg"), "xy");
  for (int i = 0; i < 40; ++i) fs::create_directories(fmt::format("{}/large/below-{}/a", root, i));
  fs::create_directory_symlink("..", root + "/7/up");
  fs::create_symlink("../large/1.jpg", root + "/8/link.jpg");
  ::mkfifo((root + "/9/fifo").c_str(), 0600);
}

TEST_CASE("folders ahead: a walk tells the same in the same order as one folder after the other") {
  const TempDir dir;
  make_tree(dir / "tree");
  for (const bool keep_hidden : {false, true}) {
    const std::vector<std::string> told = told_by(dir / "tree", nullptr, keep_hidden);
    CHECK(told.size() > 6000);
    for (int again = 0; again < 3; ++again) CHECK(told_ahead(dir / "tree", keep_hidden) == told);
  }
}

TEST_CASE("folders ahead: the first error in the order of the walk ends it, after the same files") {
  const TempDir dir;
  make_tree(dir / "tree");
  for (const char* place : {"3", "12/1", "25", "large"})
    fs::create_symlink("nowhere", fmt::format("{}/{}/broken.jpg", dir / "tree", place));
  const std::vector<std::string> told = told_by(dir / "tree", nullptr);
  CHECK(told.back().find("broken.jpg") != std::string::npos);
  for (int again = 0; again < 5; ++again) CHECK(told_ahead(dir / "tree") == told);
  CHECK(told_ahead(dir / "missing") == told_by(dir / "missing", nullptr));
}

TEST_CASE("folders ahead: a folder that may not be read is named as without them") {
  if (::geteuid() == 0) return;  // may read anything
  const TempDir dir;
  make_tree(dir / "tree");
  fs::permissions(dir / "tree/20", fs::perms::none);
  CHECK(told_ahead(dir / "tree") == told_by(dir / "tree", nullptr));
  fs::permissions(dir / "tree/20", fs::perms::owner_all);
}

TEST_CASE("folders ahead: what a walk throws itself ends it, with folders on their way") {
  const TempDir dir;
  make_tree(dir / "tree");
  for (int last = 1; last < 200; last += 20) {
    FoldersAhead ahead;
    int files = 0;
    const auto visit = [&](const WalkedFile&) {
      if (++files == last) throw Error(Code::interrupted, "stopped");
    };
    CHECK(error_of([&] { walk_folder(dir / "tree", {}, visit, ahead); }).code() ==
          Code::interrupted);
  }
}

TEST_CASE("folders ahead: walks that are expected are those that are made, a vanished one too") {
  const TempDir dir;
  make_tree(dir / "tree");
  std::vector<std::string> folders;
  for (int i = 0; i < 30; ++i) folders.push_back(std::to_string(i));
  const auto all_files = [&](FileTree& tree) {
    std::vector<std::string> files;
    for (const std::string& folder : folders) {
      (void)tree.walk(folder, {}, [&](const WalkedFile& file) {
        files.push_back(fmt::format("{}/{}/{} {}", folder, file.directory, file.name, file.bytes));
      });
    }
    return files;
  };
  const auto plain = open_folder_tree(dir / "tree"), expecting = open_folder_tree(dir / "tree");
  expecting->expect_walks(folders, {});
  CHECK(all_files(*expecting) == all_files(*plain));
  fs::remove_all(dir / "tree/17");
  expecting->expect_walks(folders, {});
  const Error error = error_of([&] { (void)all_files(*expecting); });
  CHECK(error.code() == Code::not_found);
  CHECK(error.file() == dir / "tree/17");
}

}  // namespace
}  // namespace shale
