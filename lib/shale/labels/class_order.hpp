#pragma once

#include <functional>
#include <memory>

#include "shale/base/events.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// The samples of an input class by class: in the order of their labels, and within a class in that
/// of the input. `open` opens the input at its first sample, and is called again: once where its
/// labels ascend, else once per class. Both outlive the source. Memory: that of the input, and a
/// number per class. Errors: Code::bad_content for a label that is not one of info().classes;
/// Code::mismatch for an input that has changed; same as `open` and Source::next.
[[nodiscard]] std::unique_ptr<Source> make_class_ordered_source(
    std::function<std::unique_ptr<Source>()> open, std::size_t label, const Events& events);

}  // namespace shale
