#pragma once

#include <fmt/format.h>

#include "shale/error.hpp"

// How shale makes the errors that its users see: Error(Code::limit, "{} is above {}", found, most).

namespace shale {

template <class... Args>
struct MessageFormat {
  template <class Text>
  consteval MessageFormat(const Text& text) : checked(text) {}
  /// One that was checked before.
  MessageFormat(fmt::format_string<Args...> text) : checked(text) {}
  fmt::format_string<Args...> checked;
};

template <class... Args>
Error::Error(Code code, std::type_identity_t<MessageFormat<Args...>> format, Args&&... args)
    : Error(code, fmt::vformat(format.checked, fmt::make_format_args(args...)), 0) {}

}  // namespace shale
