//  EXIF is a TIFF without pixels; tag 0x0112 of its first directory is the orientation, 1 (upright)
//  to 8. Source: CIPA DC-008 section 4.6.5.1.

#include "shale/image/header_facts.hpp"
#include "shale/image/tiff_directory.hpp"

namespace shale {

unsigned exif_orientation(Bytes tiff) {
  using std::string_view_literals::operator""sv;
  constexpr std::string_view kPrefixes[] = {"Exif\0\0"sv, "Exif\0\xFF"sv};
  for (const std::string_view prefix : kPrefixes) {
    if (HeaderView(tiff).holds(0, prefix)) tiff = tiff.subspan(prefix.size());
  }
  const HeaderView view(tiff);
  if (!view.holds(0, "II*\0"sv) && !view.holds(0, "MM\0*"sv)) return 1;
  const std::uint64_t orientation = TiffDirectory(tiff).number(0x0112, 1);
  return orientation >= 1 && orientation <= 8 ? static_cast<unsigned>(orientation) : 1;
}

}  // namespace shale
