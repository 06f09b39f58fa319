#include "shale/image/codecs.hpp"

namespace shale {

// From CMake, which asks pkg-config for what is linked: libjpeg-turbo cannot tell its version.
std::string codec_libraries() { return SHALE_CODECS; }

}  // namespace shale
