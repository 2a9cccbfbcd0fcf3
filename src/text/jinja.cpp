#include "text/jinja.h"

#include "base/check.h"
#include "text/jinja_interp.h"
#include "text/jinja_parser.h"
#include "text/jinja_scope.h"

namespace brass::jinja {

Template::Template(std::string source, std::unique_ptr<Tree> tree)
    : source_(std::move(source)), tree_(std::move(tree)) {}
Template::~Template() = default;

Result<std::unique_ptr<Template>> Template::parse(std::string_view source) {
  auto tree = std::make_unique<Tree>(TRY(jinja::parse(source)));
  TRY(resolve(*tree));
  return std::unique_ptr<Template>(new Template(std::string(source), std::move(tree)));
}

Result<Rendered> Template::render(const Value& context, const RenderOptions& options) const {
  ENSURE(context.is(Kind::dict), "the context is a dict");
  Heap heap(options.max_memory);
  Interpreter interpreter(heap, options, *tree_, context);
  Text text = TRY(interpreter.run());
  if (options.shown != nullptr) {
    text.each(0, text.size(), [&](std::string_view bytes, Origin origin) {
      if (origin.id < kFirstNumbered) return;
      const size_t number = origin.id - kFirstNumbered;
      if (number >= options.shown->size()) options.shown->resize(number + 1);
      (*options.shown)[number] += bytes.size();
    });
  }
  std::vector<Segment> segments = text.segments();
  return Rendered{std::move(text).take(), std::move(segments)};
}

}  // namespace brass::jinja
