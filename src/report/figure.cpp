#include "report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"

namespace brass::report {
namespace {

constexpr int kWidth = 760, kMargin = 20, kLabel = 190, kTotal = 150, kBar = 20, kRow = 30;
constexpr int kBarWidth = kWidth - 2 * kMargin - kLabel - kTotal;

// One light and one dark set; the reader's system chooses.
constexpr const char* kStyle =
    "<style>"
    ".bg{fill:#ffffff}.t{fill:#1c1e21}.m{fill:#5b616b}.p{fill:#b45f06}.d{fill:#1f5fa8}.c{fill:#2e7d4f}"
    ".in{fill:#ffffff}"
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    ".h{font-size:17px;font-weight:600}.s{font-size:14px;font-weight:600}.n{font-size:12px}"
    "@media(prefers-color-scheme:dark){.bg{fill:#14171b}.t{fill:#e8eaed}.m{fill:#a0a6b0}.p{fill:#e09a3e}"
    ".d{fill:#6aa7ea}.c{fill:#66bb87}.in{fill:#14171b}}"
    "</style>";

std::string text_at(int x, int y, const char* cls, std::string_view text, const char* anchor = "start") {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, cls, anchor,
                     escape_markup(text));
}

std::string box(double x, int y, double width, const char* cls) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" class=\"{}\"/>\n", x, y,
                     width, kBar, cls);
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string share_row(const ShareBar& bar, int y) {
  const double share = bar.phases.prefill_share(), x = kMargin + kLabel, cut = kBarWidth * share;
  std::string svg = text_at(kMargin, y + 15, "t", bar.label);
  svg += box(x, y, cut, "p") + box(x + cut, y, kBarWidth - cut, "d");
  // A percentage stands inside its part where the part is wide enough.
  if (cut > 40) svg += text_at(static_cast<int>(x + cut / 2), y + 15, "in", percent(share), "middle");
  if (kBarWidth - cut > 40)
    svg += text_at(static_cast<int>(x + cut + (kBarWidth - cut) / 2), y + 15, "in", percent(1 - share),
                   "middle");
  const std::string total = format_seconds(bar.phases.total());
  return svg + text_at(kMargin + kLabel + kBarWidth + 10, y + 15, "t",
                       bar.mark.empty() ? total : total + " " + bar.mark);
}

std::string saved_row(const SavedBar& bar, double largest, int y) {
  const char* cls = bar.kind == SavedKind::kPrefill ? "p" : bar.kind == SavedKind::kDecode ? "d" : "c";
  const double width = largest > 0 ? kBarWidth * std::max(0.0, bar.seconds) / largest : 0;
  return text_at(kMargin, y + 15, "t", bar.label) + box(kMargin + kLabel, y, width, cls) +
         text_at(static_cast<int>(kMargin + kLabel + width + 10), y + 15, "t", format_seconds(bar.seconds));
}

double largest_saving(const Figure& figure) {
  double largest = 0;
  for (const SavedBar& bar : figure.saved) largest = std::max(largest, bar.seconds);
  return largest;
}

std::string legend(int y, bool cache) {
  std::string svg;
  int x = kMargin + kLabel;
  const auto entry = [&](const char* cls, const char* name) {
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" class=\"{}\"/>\n", x, y, cls);
    svg += text_at(x + 18, y + 11, "m", name);
    x += 90;
  };
  entry("p", "prefill");
  entry("d", "decode");
  if (cache) entry("c", "prefix cache");
  return svg;
}

// Columns that text takes: bytes that do not continue a character.
size_t columns(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width > columns(text) ? width - columns(text) : 0, ' ');
}

std::string repeated(std::string_view unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

std::string coloured(const std::string& text, const char* code, bool colour) {
  return colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n')
      out += c;
  }
  return out;
}

std::string figure_svg(const Figure& figure) {
  std::string body;
  int y = kMargin + 17;
  body += text_at(kMargin, y, "t h", figure.title);
  body += text_at(kMargin, y += 28, "t s", figure.shares_title);
  const bool cache =
      std::ranges::any_of(figure.saved, [](const SavedBar& b) { return b.kind == SavedKind::kCache; });
  body += legend(y += 10, cache);
  y += 22;
  for (const ShareBar& bar : figure.shares) body += share_row(bar, y), y += kRow;
  if (!figure.saved.empty()) {
    body += text_at(kMargin, y += 20, "t s", figure.saved_title);
    y += 12;
    for (const SavedBar& bar : figure.saved) body += saved_row(bar, largest_saving(figure), y), y += kRow;
  }
  for (const std::string& note : figure.notes) body += text_at(kMargin, y += 18, "m n", note);
  y += kMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n"
      "<title>{}</title>\n{}<rect class=\"bg\" width=\"{}\" height=\"{}\"/>\n{}</svg>\n",
      kWidth, y, escape_markup(figure.title), kStyle, kWidth, y, body);
}

std::string figure_text(const Figure& figure, int width, bool colour) {
  size_t label = 0;
  for (const ShareBar& bar : figure.shares) label = std::max(label, columns(bar.label));
  for (const SavedBar& bar : figure.saved) label = std::max(label, columns(bar.label));
  const int bar_width = std::clamp(width - static_cast<int>(label) - 40, 10, 50);
  std::string text = figure.title + "\n\n  " + figure.shares_title + "\n";
  for (const ShareBar& bar : figure.shares) {
    const double share = bar.phases.prefill_share();
    const int cut = static_cast<int>(std::lround(bar_width * share));
    text += fmt::format(
        "  {} {}{} {:>4} {:>4}  {}{}\n", padded(bar.label, label), coloured(repeated("█", cut), "33", colour),
        coloured(repeated("░", bar_width - cut), "34", colour), percent(share), percent(1 - share),
        format_seconds(bar.phases.total()), bar.mark.empty() ? "" : " " + bar.mark);
  }
  text += "  █ prefill  ░ decode\n";
  if (!figure.saved.empty()) text += "\n  " + figure.saved_title + "\n";
  const double largest = largest_saving(figure);
  for (const SavedBar& bar : figure.saved) {
    const char* code = bar.kind == SavedKind::kPrefill ? "33" : bar.kind == SavedKind::kDecode ? "34" : "32";
    const int n =
        largest > 0 ? static_cast<int>(std::lround(bar_width * std::max(0.0, bar.seconds) / largest)) : 0;
    text += fmt::format("  {} {} {}\n", padded(bar.label, label), coloured(repeated("█", n), code, colour),
                        format_seconds(bar.seconds));
  }
  if (!figure.notes.empty()) text += "\n";
  for (const std::string& note : figure.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace brass::report
