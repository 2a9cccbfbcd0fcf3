// brass bench article: the article's figure as published, then corrected, then what differs and why.
#include "app/bench_flags.h"
#include "app/terminal.h"
#include "report/article.h"

namespace brass::app {

Result<> bench_article(const BenchFlags& flags) {
  const int width = stdout_is_terminal() ? terminal_width() : 100;
  for (const bool corrected : {false, true})
    fmt::print("{}\n", report::figure_text(report::article_figure(corrected), width, colour_wanted()));
  fmt::print("What differs\n");
  for (const report::ArticleDifference& d : report::article_differences())
    fmt::print("  {}\n    published  {}\n    corrected  {}\n    because    {}\n", d.about, d.published,
               d.corrected, d.why);
  if (flags.out.empty()) return {};
  TRY_VOID(write_out(flags.out, "article-published.svg", report::figure_svg(report::article_figure(false))));
  return write_out(flags.out, "article-corrected.svg", report::figure_svg(report::article_figure(true)));
}

}  // namespace brass::app
