#include "shale/labels/composed_text.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

// What a mark makes of the letter in front of it: the letter, the two as one, and so on. Source:
// UnicodeData.txt 15, the canonical decompositions into two characters of the first plane, without
// those that NFC leaves as they are.
struct Mark {
  char16_t mark;
  std::u16string_view pairs;
};
constexpr Mark kMarks[] = {
    // clang-format off
    {0x0300, u"AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳ¨῭ÂẦÊỀÔỒÜǛâầêềôồüǜĂẰăằĒḔēḕŌṐōṑƠỜơờƯỪưừΑᾺΕῈΗῊΙῚΟῸΥῪΩῺαὰεὲηὴιὶοὸυὺωὼϊῒϋῢЕЀИЍеѐиѝἀἂἁἃἈἊἉἋἐἒἑἓἘἚἙἛἠἢἡἣἨἪἩἫἰἲἱἳἸἺἹἻὀὂὁὃὈὊὉὋὐὒὑὓὙὛὠὢὡὣὨὪὩὫ᾿῍῾῝"},
    {0x0301, u"AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzź¨΅ÂẤÅǺÆǼÇḈÊẾÏḮÔỐÕṌØǾÜǗâấåǻæǽçḉêếïḯôốõṍøǿüǘĂẮăắĒḖēḗŌṒōṓŨṸũṹƠỚơớƯỨưứΑΆΕΈΗΉΙΊΟΌΥΎΩΏαάεέηήιίοόυύωώϊΐϋΰϒϓГЃКЌгѓкќἀἄἁἅἈἌἉἍἐἔἑἕἘἜἙἝἠἤἡἥἨἬἩἭἰἴἱἵἸἼἹἽὀὄὁὅὈὌὉὍὐὔὑὕὙὝὠὤὡὥὨὬὩὭ᾿῎῾῞"},
    {0x0302, u"AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑẠẬạậẸỆẹệỌỘọộ"},
    {0x0303, u"AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹÂẪÊỄÔỖâẫêễôỗĂẴăẵƠỠơỡƯỮưữ"},
    {0x0304, u"AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳÄǞÆǢÕȬÖȪÜǕäǟæǣõȭöȫüǖǪǬǫǭȦǠȧǡȮȰȯȱΑᾹΙῙΥῩαᾱιῑυῡИӢУӮиӣуӯḶḸḷḹṚṜṛṝ"},
    {0x0306, u"AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭȨḜȩḝΑᾸΙῘΥῨαᾰιῐυῠАӐЕӖЖӁИЙУЎаӑеӗжӂийуўẠẶạặ"},
    {0x0307, u"AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻaȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzżŚṤśṥŠṦšṧſẛṢṨṣṩ"},
    {0x0308, u"AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿÕṎõṏŪṺūṻΙΪΥΫιϊυϋϒϔІЇАӒЕЁЖӜЗӞИӤОӦУӰЧӴЫӸЭӬаӓеёжӝзӟиӥоӧуӱчӵыӹэӭіїӘӚәӛӨӪөӫ"},
    {0x0309, u"AẢEẺIỈOỎUỦYỶaảeẻiỉoỏuủyỷÂẨÊỂÔỔâẩêểôổĂẲăẳƠỞơởƯỬưử"},
    {0x030a, u"AÅUŮaåuůwẘyẙ"},
    {0x030b, u"OŐUŰoőuűУӲуӳ"},
    {0x030c, u"AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzžÜǙüǚƷǮʒǯ"},
    {0x030f, u"AȀEȄIȈOȌRȐUȔaȁeȅiȉoȍrȑuȕѴѶѵѷ"},
    {0x0311, u"AȂEȆIȊOȎRȒUȖaȃeȇiȋoȏrȓuȗ"},
    {0x0313, u"ΑἈΕἘΗἨΙἸΟὈΩὨαἀεἐηἠιἰοὀρῤυὐωὠ"},
    {0x0314, u"ΑἉΕἙΗἩΙἹΟὉΡῬΥὙΩὩαἁεἑηἡιἱοὁρῥυὑωὡ"},
    {0x031b, u"OƠUƯoơuư"},
    {0x0323, u"AẠBḄDḌEẸHḤIỊKḲLḶMṂNṆOỌRṚSṢTṬUỤVṾWẈYỴZẒaạbḅdḍeẹhḥiịkḳlḷmṃnṇoọrṛsṣtṭuụvṿwẉyỵzẓƠỢơợƯỰưự"},
    {0x0324, u"UṲuṳ"},
    {0x0325, u"AḀaḁ"},
    {0x0326, u"SȘTȚsștț"},
    {0x0327, u"CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ"},
    {0x0328, u"AĄEĘIĮOǪUŲaąeęiįoǫuų"},
    {0x032d, u"DḒEḘLḼNṊTṰUṶdḓeḙlḽnṋtṱuṷ"},
    {0x032e, u"HḪhḫ"},
    {0x0330, u"EḚIḬUṴeḛiḭuṵ"},
    {0x0331, u"BḆDḎKḴLḺNṈRṞTṮZẔbḇdḏhẖkḵlḻnṉrṟtṯzẕ"},
    {0x0338, u"<\u226e=\u2260>\u226f\u2190\u219a\u2192\u219b\u2194\u21ae\u21d0\u21cd\u21d2\u21cf\u21d4\u21ce\u2203\u2204\u2208\u2209\u220b\u220c\u2223\u2224\u2225\u2226\u223c\u2241\u2243\u2244\u2245\u2247\u2248\u2249\u224d\u226d\u2261\u2262\u2264\u2270\u2265\u2271\u2272\u2274\u2273\u2275\u2276\u2278\u2277\u2279\u227a\u2280\u227b\u2281\u227c\u22e0\u227d\u22e1\u2282\u2284\u2283\u2285\u2286\u2288\u2287\u2289\u2291\u22e2\u2292\u22e3\u22a2\u22ac\u22a8\u22ad\u22a9\u22ae\u22ab\u22af\u22b2\u22ea\u22b3\u22eb\u22b4\u22ec\u22b5\u22ed"},
    {0x0342, u"¨῁αᾶηῆιῖυῦωῶϊῗϋῧἀἆἁἇἈἎἉἏἠἦἡἧἨἮἩἯἰἶἱἷἸἾἹἿὐὖὑὗὙὟὠὦὡὧὨὮὩὯ᾿῏῾῟"},
    {0x0345, u"ΑᾼΗῌΩῼάᾴήῄαᾳηῃωῳώῴἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἈᾈἉᾉἊᾊἋᾋἌᾌἍᾍἎᾎἏᾏἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗἨᾘἩᾙἪᾚἫᾛἬᾜἭᾝἮᾞἯᾟὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧὨᾨὩᾩὪᾪὫᾫὬᾬὭᾭὮᾮὯᾯὰᾲὴῂὼῲᾶᾷῆῇῶῷ"},
    {0x0653, u"اآ"},
    {0x0654, u"اأوؤيئہۂےۓەۀ"},
    {0x0655, u"اإ"},
    {0x093c, u"नऩरऱळऴ"},
    {0x09be, u"\u09c7\u09cb"},
    {0x09d7, u"\u09c7\u09cc"},
    {0x0b3e, u"\u0b47\u0b4b"},
    {0x0b56, u"\u0b47\u0b48"},
    {0x0b57, u"\u0b47\u0b4c"},
    {0x0bbe, u"\u0bc6\u0bca\u0bc7\u0bcb"},
    {0x0bd7, u"ஒஔ\u0bc6\u0bcc"},
    {0x0c56, u"\u0c46\u0c48"},
    {0x0cc2, u"\u0cc6\u0cca"},
    {0x0cd5, u"\u0cbf\u0cc0\u0cc6\u0cc7\u0cca\u0ccb"},
    {0x0cd6, u"\u0cc6\u0cc8"},
    {0x0d3e, u"\u0d46\u0d4a\u0d47\u0d4b"},
    {0x0d57, u"\u0d46\u0d4c"},
    {0x0dca, u"\u0dd9\u0dda\u0ddc\u0ddd"},
    {0x0dcf, u"\u0dd9\u0ddc"},
    {0x0ddf, u"\u0dd9\u0dde"},
    {0x102e, u"ဥဦ"},
    {0x1b35, u"ᬅᬆᬇᬈᬉᬊᬋᬌᬍᬎᬑᬒ\u1b3a\u1b3b\u1b3c\u1b3d\u1b3e\u1b40\u1b3f\u1b41\u1b42\u1b43"},
    {0x3099, u"\u3046\u3094\u304b\u304c\u304d\u304e\u304f\u3050\u3051\u3052\u3053\u3054\u3055\u3056\u3057\u3058\u3059\u305a\u305b\u305c\u305d\u305e\u305f\u3060\u3061\u3062\u3064\u3065\u3066\u3067\u3068\u3069\u306f\u3070\u3072\u3073\u3075\u3076\u3078\u3079\u307b\u307c\u309d\u309e\u30a6\u30f4\u30ab\u30ac\u30ad\u30ae\u30af\u30b0\u30b1\u30b2\u30b3\u30b4\u30b5\u30b6\u30b7\u30b8\u30b9\u30ba\u30bb\u30bc\u30bd\u30be\u30bf\u30c0\u30c1\u30c2\u30c4\u30c5\u30c6\u30c7\u30c8\u30c9\u30cf\u30d0\u30d2\u30d3\u30d5\u30d6\u30d8\u30d9\u30db\u30dc\u30ef\u30f7\u30f0\u30f8\u30f1\u30f9\u30f2\u30fa\u30fd\u30fe"},
    {0x309a, u"\u306f\u3071\u3072\u3074\u3075\u3077\u3078\u307a\u307b\u307d\u30cf\u30d1\u30d2\u30d4\u30d5\u30d7\u30d8\u30da\u30db\u30dd"},
    // clang-format on
};

// Hangul is composed by numbers (The Unicode Standard, section 3.12).
constexpr std::uint32_t kSyllables = 0xac00, kLeading = 0x1100, kVowels = 0x1161,
                        kTrailing = 0x11a7;
constexpr std::uint32_t kLeadings = 19, kVowelCount = 21, kTrailings = 28;

// 0: there is none.
std::uint32_t composed_of(std::uint32_t letter, std::uint32_t mark) {
  if (letter - kLeading < kLeadings && mark - kVowels < kVowelCount)
    return kSyllables + ((letter - kLeading) * kVowelCount + (mark - kVowels)) * kTrailings;
  const bool is_open = letter - kSyllables < kLeadings * kVowelCount * kTrailings &&
                       (letter - kSyllables) % kTrailings == 0;
  if (is_open && mark - kTrailing - 1 < kTrailings - 1) return letter + (mark - kTrailing);
  const auto found = std::ranges::lower_bound(kMarks, mark, {}, &Mark::mark);
  if (found == std::end(kMarks) || found->mark != mark) return 0;
  for (std::size_t i = 0; i + 1 < found->pairs.size(); i += 2) {
    if (found->pairs[i] == letter) return found->pairs[i + 1];
  }
  return 0;
}

std::uint32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint32_t code = bytes == 1 ? first : first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i)
    code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
  text.remove_prefix(bytes);
  return code;
}

void append_character(std::string& text, std::uint32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kFirst[more] | code >> static_cast<unsigned>(6 * more));
  for (int i = more - 1; i >= 0; --i)
    text += static_cast<char>(0x80U | (code >> static_cast<unsigned>(6 * i) & 0x3fU));
}

}  // namespace

// All bytes, without a way out: compilers take many at once.
bool is_ascii(std::string_view text) {
  unsigned char bits = 0;
  for (const char byte : text) bits |= static_cast<unsigned char>(byte);
  return bits < 0x80;
}

std::string composed_text(std::string_view text) {
  if (is_ascii(text) || !is_utf8(text)) return std::string(text);
  std::vector<std::uint32_t> characters;
  while (!text.empty()) {
    const std::uint32_t next = take_character(text);
    const std::uint32_t both = characters.empty() ? 0 : composed_of(characters.back(), next);
    if (both != 0)
      characters.back() = both;
    else
      characters.push_back(next);
  }
  std::string composed;
  for (const std::uint32_t character : characters) append_character(composed, character);
  return composed;
}

}  // namespace shale
