#pragma once

#include <cstdint>
#include <string>

#include "shale/archives/archive_tree.hpp"

#include "tests/fuzz/fuzz_scan.hpp"

namespace shale::test {

// Without links a walk ends: of a hostile set of them it may be as long as 2 to the 40th.
constexpr int kMostEntered = 20'000;

/// Walks all of an archive with these bytes: use(tree, member). Traps on an error that is a bug.
template <class Use>
void walk_archive(const std::string& bytes, const Use& use, OnDamage on_damage = OnDamage::stop) {
  const FuzzedFile file(bytes);
  const std::string path = file.files()[0].path();
  int entered = 0;
  FolderRequest request;
  request.root = path;
  request.scratch_folder = "/tmp";
  request.memory_bytes = 1 << 20;
  request.on_damage = on_damage;
  request.stop_if_asked = [&entered] {
    if (++entered > kMostEntered) throw Error(Code::interrupted, "enough");
  };
  try {
    const auto tree = open_archive_tree(request, {{path}, ""});
    tree->walk("", {.keep_hidden = true, .wants_size = {}}, [&](const WalkedFile& member) {
      request.stop_if_asked();
      use(*tree, member);
    });
  } catch (const Error& error) {
    if (error.code() == Code::bug) __builtin_trap();
  }
}

}  // namespace shale::test
