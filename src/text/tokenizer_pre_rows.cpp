#include "text/tokenizer_pre_rows.h"

// Pieces of patterns that several rows share.
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BLANKS R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define PREFIX R"([^\r\n\p{L}\p{N}]?)"
#define NO_HAN(letters) "(?:(?!\\p{sc:Han})" letters ")"
// What Oniguruma's \w is, by which some patterns end a number: PCRE2's differs from version to version.
#define WORD R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}])"

namespace brass::tokens {

namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kQwen2 = CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kUfakzeka = PREFIX R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kMiniCpm5 =
    CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kQwen35 =
    CONTRACTION "|" PREFIX R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kTekken =
    PREFIX UPPER "*" LOWER "+|" PREFIX UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" BLANKS;
constexpr std::string_view kGpt4o =
    PREFIX UPPER "*" LOWER "+" CONTRACTION "?|" PREFIX UPPER "+" LOWER "*" CONTRACTION
                 R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" BLANKS;
constexpr std::string_view kYoutu =
    PREFIX UPPER "*" LOWER "+" CONTRACTION "?|" PREFIX UPPER "+" LOWER "*" CONTRACTION
                 R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" BLANKS;
constexpr std::string_view kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)" BLANKS;
constexpr std::string_view kDeepseekV3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+[\r\n]*)re" BLANKS;
constexpr std::string_view kSpark =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)re"
    R"re(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)re";
constexpr std::string_view kKimi =
    R"(\p{sc:Han}+|)" PREFIX NO_HAN(UPPER) "*" NO_HAN(LOWER) "+" CONTRACTION "?|" PREFIX NO_HAN(
        UPPER) "+" NO_HAN(LOWER) "*" CONTRACTION R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kJais2 =
    CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
                R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
                R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
// Words of several words. Possessive: nothing follows that could ask for less.
constexpr std::string_view kExaoneMoe = CONTRACTION
    "|" PREFIX R"((?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n])"
    R"(|\s+(?!\S)|\s+)";
// Numbers in threes from the right. Each of these is published with a look-ahead over all digits that follow,
// for every three of them; here only the first part of a number looks ahead, and three digits follow what was
// cut before (\G). Published as \d{1,3}(?=(?:\d{3})*\b): a number that ends inside a word is not cut.
constexpr std::string_view kTinyAyaDigits = R"(\G(?<=\d)\d{3}|(?<!\d)\d{1,3}(?=(?:\d{3})*+(?!)" WORD R"()))";
// Published as (?=(\d{3})+(?!\d)), a cut and no word, in what \p{N}+ matched.
constexpr std::string_view kSuperBpeDigits = R"((?s)\G(?:(?<=\d)\d{3}(?=\d)|.+?(?=(?:\d{3})++(?!\d))))";
constexpr std::string_view kAfmoeDigits =
    R"(\G(?<=\p{N})\p{N}{3}|(?<!\p{N})\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N})))";
constexpr std::string_view kAfmoeScripts =
    R"([一-鿿㐀-䶿\x{F900}-\x{FAFF}\x{3040}-ゟ゠-ヿ\x{FF65}-ﾟ⼀-\x{2FDF}เ-\x{E7F}\x{E80}-\x{EFF}ក-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}가-\x{D7AF}\x{1100}-\x{11FF}]+)";
// The cased letters of the Unicode version that the tokenizer was made with.
constexpr std::string_view kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C})"
    R"(\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B})"
    R"(\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
    R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4})"
    R"(\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115})"
    R"(\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139})"
    R"(\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
    R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
    R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
// "!-/:-~" in half and in full width, then general and CJK punctuation up to U+3002.
constexpr std::string_view kDeepseekPunctuation = R"(\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+)";
constexpr std::string_view kDeepseekCjk = R"([一-龥\x{0800}-一가-\x{D7FF}]+)";
// Published as \s+$, which takes quadratic time on blanks before a letter; the look-behind only forbids
// useless starts.
constexpr std::string_view kTrailingBlanks = R"((?<!\s)\s++$)";
constexpr std::string_view kCjk = R"([一-龥\x{3040}-ゟ゠-ヿ]+)";

const PreRow kRows[] = {
    {{"default"}, {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}, {}},
    {{"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum",
      "exaone4", "modern-bert", "jais", "trillion", "granite-docling", "jina-v1-en", "jina-v2-code",
      "roberta-bpe"},
     {kGpt2},
     {}},
    {{"mpt", "olmo"}, {kGpt2}, {.nfc = true}},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
      "jina-v5-nano"},
     {kLlama3},
     {.whole_words = true, .add_bos = true}},
    {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {kLlama3}, {}},
    {{"qwen2"}, {kQwen2}, {.nfc = true}},
    {{"deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2", "f2llmv2"},
     {kQwen2},
     {}},
    {{"ufakzeka"}, {kUfakzeka}, {}},
    {{"minicpm5"}, {R"(\p{N}{1,3})", kMiniCpm5}, {.whole_words = true}},
    {{"qwen35"}, {kQwen35}, {.nfc = true}},
    {{"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"},
     {R"(\p{N})", kGpt2},
     {}},
    {{"command-r"}, {R"(\p{N})", kGpt2}, {.nfc = true}},
    {{"deepseek-coder"}, {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekCjk, R"(\p{N})"}, {}},
    {{"deepseek-llm"},
     {R"([\r\n])", kDeepseekLetters, kDeepseekPunctuation, kTrailingBlanks, kDeepseekCjk, R"(\p{N}+)"},
     {}},
    {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, {R"(\p{N}{1,3})", kCjk, kDeepseekV3}, {}},
    {{"spark2_5"}, {R"(\p{N}{1,3})", kCjk, kSpark, R"(\p{N})"}, {}},
    {{"falcon"}, {R"([\p{P}$+<=>^~|`]+)", kGpt2, "[0-9][0-9][0-9]"}, {}},
    {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}, {}},
    {{"viking"}, {kBloom, R"(\p{N})"}, {}},
    {{"tekken"}, {kTekken}, {.whole_words = true, .add_bos = true}},
    {{"gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"}, {kGpt4o}, {}},
    {{"granite-embed-multi-97m"}, {kGpt4o}, {.whole_words = true}},
    {{"youtu"},
     {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|)"
      R"([一-龥\x{3040}-ゟ゠-ヿ]+)",
      kYoutu},
     {.whole_words = true}},
    {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}, {}},
    {{"seed-coder"}, {kSeedCoder}, {}},
    {{"kimi-k2", "kimi-k25"}, {kKimi}, {.whole_words = true}},  // as tiktoken looks words up
    {{"jais-2"}, {kJais2}, {}},
    {{"exaone-moe"}, {kExaoneMoe}, {}},
    {{"tiny_aya", "cohere2moe"}, {kTinyAyaDigits, kGpt4o}, {}},
    {{"superbpe"}, {R"(\p{N}+)", kSuperBpeDigits}, {}},
    {{"afmoe"}, {kAfmoeDigits, kAfmoeScripts, kDeepseekV3}, {}},
    {{"laguna"}, {R"([^\n]+|\n+)", kQwen2}, {}},
    {{"chameleon"},
     {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])",
      kGpt2},
     {.add_bos = true}},
};

}  // namespace

std::span<const PreRow> pre_rows() { return kRows; }

}  // namespace brass::tokens
