#include <filesystem>
#include <functional>

#include <doctest/doctest.h>

#include "shale/targets/file_output.hpp"

#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;
using test::content_of;
namespace fs = std::filesystem;

// Of the files, or of the folders, at these paths.
std::map<std::string, std::string> content_of(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> content;
  for (const std::string& path : paths) {
    if (fs::is_directory(path)) content.merge(content_of(path));
    if (fs::is_regular_file(path)) content[path] = read_text(path);
  }
  return content;
}

using Content = std::map<std::string, std::string>;
const Content kOld = {{"a.npy", "old a.npy"}, {"b.npy", "old b.npy"}, {"c.npy", "old c.npy"}};
const Content kNew = {{"a.npy", "new a.npy"}, {"b.npy", "new b.npy"}, {"c.npy", "new c.npy"}};

// Three outputs that belong together, whole in their work folders.
struct Group {
  explicit Group(bool overwrite) {
    for (const auto& [name, text] : kNew) {
      outputs.push_back(dir / name);
      if (overwrite) write_file(outputs.back(), kOld.at(name));
      arrays.push_back(std::make_unique<TemporaryOutput>(outputs.back(), overwrite));
      write_file(arrays.back()->path(), text);
    }
  }
  [[nodiscard]] Content content() {
    arrays.clear();  // as a kill would: no lock, and what was promised stays
    return content_of(dir.path());
  }

  TempDir dir;
  std::vector<std::string> outputs;
  TemporaryOutputs arrays;
};

TEST_CASE("file output: files that belong together get their names together") {
  for (const bool overwrite : {false, true}) {
    Group group(overwrite);
    publish_together(group.arrays);
    CHECK(group.content() == kNew);
  }
}

TEST_CASE("file output: one that cannot get its name leaves all as they were") {
  for (const bool overwrite : {false, true}) {
    for (const std::size_t taken : {0U, 1U, 2U}) {
      CAPTURE(overwrite);
      CAPTURE(taken);
      Group group(overwrite);
      // What neither of them may replace.
      fs::remove(group.outputs[taken]);
      write_file(group.outputs[taken] + (overwrite ? "/file" : ""), "of somebody else");
      const Content before = content_of(group.outputs);
      CHECK(error_of([&] { publish_together(group.arrays); }).code() == Code::exists);
      CHECK(content_of(group.outputs) == before);
    }
  }
}

// The steps of publish_together.
std::vector<std::function<void()>> steps_of(Group& group) {
  std::vector<std::function<void()>> steps;
  const std::string promise = promise_of(group.outputs, group.outputs[0]);
  for (auto array = group.arrays.rbegin(); array != group.arrays.rend(); ++array)
    steps.emplace_back([&one = **array, promise] { one.promise(promise); });
  for (const auto& array : group.arrays) steps.emplace_back([&] { array->move_old_away(); });
  for (const auto& array : group.arrays) steps.emplace_back([&] { array->take_name(); });
  for (const auto& array : group.arrays) steps.emplace_back([&] { array->settle(); });
  return steps;
}

TEST_CASE("file output: killed at any step, all old ones stand or the next run gives all names") {
  constexpr std::size_t kSteps = 12, kDecided = 3;
  for (const bool overwrite : {false, true}) {
    for (std::size_t done = 1; done <= kSteps; ++done) {
      CAPTURE(overwrite);
      CAPTURE(done);
      Group group(overwrite);
      const auto steps = steps_of(group);
      REQUIRE(steps.size() == kSteps);
      for (std::size_t i = 0; i < done; ++i) steps[i]();
      group.arrays.clear();  // no lock, and what was promised stays: as a kill leaves it

      for (const std::string& output : group.outputs) {
        if (!fs::exists(fs::path(WorkFolder::path_beside(output)) / "promise")) continue;
        const Error error = error_of([&] { TemporaryOutput array(output, true); });
        CHECK(error.code() == Code::exists);
        CHECK(error.cause().find(group.outputs[0]) != std::string::npos);
      }
      CHECK(finish_killed_run(group.outputs, overwrite) == (done >= kDecided));
      CHECK(!finish_killed_run(group.outputs, overwrite));
      const Content before = overwrite ? kOld : Content{};
      CHECK(content_of(group.dir.path()) == (done >= kDecided ? kNew : before));
    }
  }
}

TEST_CASE("file output: a promise that a kill cut short is nobody's") {
  for (const std::size_t bytes : {0U, 5U}) {
    Group group(true);
    const std::string begin = promise_of(group.outputs, group.outputs[2]).substr(0, bytes);
    group.arrays[2]->promise(begin);
    group.arrays.clear();
    CHECK(!finish_killed_run(group.outputs, true));
    CHECK(content_of(group.dir.path()) == kOld);
  }
}

TEST_CASE("file output: a run of other outputs does not finish what is not its own") {
  Group group(false);
  for (auto array = group.arrays.rbegin(); array != group.arrays.rend(); ++array)
    (*array)->promise(promise_of(group.outputs, (*array)->output()));
  group.arrays.clear();
  const std::vector<std::string> others = {group.outputs[1], group.outputs[0]};
  CHECK(error_of([&] { (void)finish_killed_run(others, true); }).code() == Code::exists);
  clear_left_output(group.outputs[1]);
  CHECK(finish_killed_run(group.outputs, false));
  CHECK(content_of(group.dir.path()) == kNew);
}

}  // namespace
}  // namespace shale
