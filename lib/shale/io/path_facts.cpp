#include "shale/io/path_facts.hpp"

#include <cerrno>

#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

template <class Stat>
std::optional<struct stat> ask(const std::string& path, const Stat& call) {
  struct stat facts {};
  if (retried(path, [&] { return call(path.c_str(), &facts); }) == 0) return facts;
  const int error = errno;
  // A pattern that spells out many files is longer than any name.
  const bool is_pattern = error == ENAMETOOLONG && path.find('{') != std::string::npos;
  if (error == ENOENT || error == ENOTDIR || is_pattern) return std::nullopt;
  throw Error(Code::io, "cannot be reached").at(path).because_errno(error);
}

}  // namespace

std::optional<struct stat> facts_at(const std::string& path) { return ask(path, ::lstat); }

std::optional<struct stat> facts_behind(const std::string& path) { return ask(path, ::stat); }

bool stands(const std::string& path) { return facts_at(path).has_value(); }

bool is_real_folder(const std::string& path) {
  const std::optional<struct stat> facts = facts_at(path);
  return facts && S_ISDIR(facts->st_mode);
}

}  // namespace shale
