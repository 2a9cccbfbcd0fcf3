#include "text/tokenizer_pre_rows.h"

// Pieces of patterns that several rows share.
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BLANKS R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define PREFIX R"([^\r\n\p{L}\p{N}]?)"

namespace brass::tokens {

namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
constexpr std::string_view kQwen2 = CONTRACTION "|" PREFIX R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" BLANKS;
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
// The cased letters of the Unicode version that the tokenizer was made with.
constexpr std::string_view kDeepseekLetters =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-"
    "ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ"
    "\\x{2126}ℨ\\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
// "!-/:-~" in half and in full width, then general and CJK punctuation up to U+3002.
constexpr std::string_view kDeepseekPunctuation = R"(\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+)";
constexpr std::string_view kDeepseekCjk = R"([一-龥\x{0800}-一가-\x{D7FF}]+)";
// Published as \s+$, which takes quadratic time on blanks before a letter; the look-behind only forbids
// useless starts.
constexpr std::string_view kTrailingBlanks = R"((?<!\s)\s++$)";
constexpr std::string_view kCjk = R"([一-龥\x{3040}-ゟ゠-ヿ]+)";

// \p{N} apart, then GPT-2, in one pattern: a blank run ends where a digit starts as it does at the end of the
// text.
constexpr std::string_view kDigitsThenGpt2 =
    R"(\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+)";

const PreRow kRows[] = {
    {{"default"}, {R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}, {}, {}},
    {{"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum",
      "exaone4", "modern-bert", "jais", "trillion", "granite-docling"},
     {kGpt2},
     {},
     {}},
    {{"mpt", "olmo"}, {kGpt2}, {}, {.nfc = true}},
    {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
     {kLlama3},
     {},
     {.whole_words = true, .add_bos = true}},
    {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {kLlama3}, {}, {}},
    {{"qwen2"}, {kQwen2}, {}, {.nfc = true}},
    {{"deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"},
     {kQwen2},
     {},
     {}},
    {{"qwen35"}, {kQwen35}, {}, {.nfc = true}},
    {{"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"},
     {R"(\p{N})", kGpt2},
     kDigitsThenGpt2,
     {}},
    {{"command-r"}, {R"(\p{N})", kGpt2}, kDigitsThenGpt2, {.nfc = true}},
    {{"deepseek-coder"}, {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekCjk, R"(\p{N})"}, {}, {}},
    {{"deepseek-llm"},
     {R"([\r\n])", kDeepseekLetters, kDeepseekPunctuation, kTrailingBlanks, kDeepseekCjk, R"(\p{N}+)"},
     {},
     {}},
    {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {R"(\p{N}{1,3})", kCjk, kDeepseekV3}, {}, {}},
    {{"falcon"}, {R"([\p{P}$+<=>^~|`]+)", kGpt2, "[0-9][0-9][0-9]"}, {}, {}},
    {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}, {}, {}},
    {{"viking"}, {kBloom, R"(\p{N})"}, {}, {}},
    {{"tekken"}, {kTekken}, {}, {.whole_words = true, .add_bos = true}},
    {{"gpt-4o", "llama4", "kanana2", "minimax-m2"}, {kGpt4o}, {}, {}},
    {{"youtu"},
     {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|)"
      R"([一-龥\x{3040}-ゟ゠-ヿ]+)",
      kYoutu},
     {},
     {.whole_words = true}},
    {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}, {}, {}},
    {{"seed-coder"}, {kSeedCoder}, {}, {}},
};

}  // namespace

std::span<const PreRow> pre_rows() { return kRows; }

}  // namespace brass::tokens
