#include <cstdio>
#include <filesystem>

#include "app/bench_flags.h"
#include "app/terminal.h"
#include "base/output_file.h"

namespace brass::app {

Result<> write_out(const std::string& out, const std::string& name, const std::string& content) {
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return fail("flag --out: {} cannot be made: {}", out, error.message());
  OutputFile file = TRY(OutputFile::create((std::filesystem::path(out) / name).string()));
  TRY_VOID(file.write(std::as_bytes(std::span(content))));
  return file.commit();
}

Result<> show_report(const BenchFlags& flags, const report::BenchReport& report) {
  if (flags.json)
    fmt::print("{}", report::report_json(report));
  else
    fmt::print("{}",
               report::report_text(report, stdout_is_terminal() ? terminal_width() : 100, colour_wanted()));
  std::fflush(stdout);
  if (flags.out.empty()) return {};
  TRY_VOID(write_out(flags.out, "report.json", report::report_json(report)));
  TRY_VOID(write_out(flags.out, "report.html", report::report_html(report)));
  return write_out(flags.out, "figure.svg", report::figure_svg(report::report_figure(report)));
}

}  // namespace brass::app
