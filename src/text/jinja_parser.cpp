#include "text/jinja_parser.h"

#include "text/jinja_expressions.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

class Parser : public ExprParser {
 public:
  using ExprParser::ExprParser;

  Result<Tree> run() {
    Tree tree;
    tree.body = TRY(statements({}));
    tree.has_autoescape = autoescapes_;
    return tree;
  }

 private:
  Result<Body> statements(Words ends) {
    const Nesting nesting(nesting_);
    TRY(check_nesting());
    Body body;
    while (now().type != Tok::end_of_file) {
      if (now().type == Tok::data || now().type == Tok::variable_begin) {
        body.push_back(TRY(output()));
        continue;
      }
      if (after().type == Tok::name && std::find(ends.begin(), ends.end(), after().text) != ends.end()) {
        take();
        return body;
      }
      TRY(expect(Tok::block_begin, "a block"));
      auto stmt = TRY(statement());
      if (stmt) body.push_back(std::move(stmt));
      TRY(expect(Tok::block_end, "'%}'"));
    }
    if (ends.size() > 0) {
      return fail_at(now().at, "unexpected end of template; expected '{}' to close '{}'", *(ends.end() - 1),
                     open_);
    }
    return body;
  }

  // After the head of a block tag: its body, up to one of `ends`, which is the next token.
  Result<Body> block_body(std::string_view tag, Words ends) {
    skip_op(":");
    TRY(expect(Tok::block_end, "'%}'"));
    const std::string outer = std::exchange(open_, std::string(tag));
    Result<Body> body = statements(ends);
    open_ = outer;
    return body;
  }
  Result<Body> whole_body(std::string_view tag, std::string_view end) {
    Body body = TRY(block_body(tag, {end}));
    take();
    return body;
  }

  Result<std::unique_ptr<Stmt>> output() {
    auto stmt = std::make_unique<OutputStmt>(now().at);
    while (now().type == Tok::data || now().type == Tok::variable_begin) {
      Token token = take();
      if (token.type == Tok::data) {
        stmt->parts.push_back(literal(token.at, constant_string(token.text)));
        stmt->parts.back()->kind = ExprKind::data;
        continue;
      }
      stmt->parts.push_back(TRY(tuple(Tuple{})));
      TRY(expect(Tok::variable_end, "'}}'"));
    }
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> statement() {
    if (now().type != Tok::name) return fail_at(now().at, "expected a tag name, got {}", describe(now()));
    const Token tag = take();
    const std::string& name = tag.text;
    if (name == "set") return set(tag.at);
    if (name == "if") return if_block(tag.at);
    if (name == "for") return for_loop(tag.at);
    if (name == "macro") return macro(tag.at);
    if (name == "call") return call_block(tag.at);
    if (name == "filter") return filter_block(tag.at);
    if (name == "with") return with(tag.at);
    if (name == "autoescape") return autoescape(tag.at);
    if (name == "block") return block(tag.at);
    if (name == "print") return print(tag.at);
    if (name == "generation") return generation(tag.at);
    if (name == "break") return std::make_unique<JumpStmt>(StmtKind::break_, tag.at);
    if (name == "continue") return std::make_unique<JumpStmt>(StmtKind::continue_, tag.at);
    for (const std::string_view refused : {"include", "import", "from", "extends"}) {
      if (name == refused) return fail_at(tag.at, "'{}' is not supported in chat templates", name);
    }
    if (open_.empty()) return fail_at(tag.at, "unknown tag '{}'", name);
    return fail_at(tag.at, "unknown tag '{}' inside '{}'", name, open_);
  }

  Result<std::unique_ptr<Stmt>> set(Position at) {
    ExprPtr target = TRY(assign_target(Target::with_namespace));
    if (skip_op("=")) {
      auto stmt = std::make_unique<SetStmt>(at);
      stmt->target = std::move(target);
      stmt->value = TRY(tuple(Tuple{}));
      return stmt;
    }
    auto stmt = std::make_unique<SetBlockStmt>(at);
    stmt->target = std::move(target);
    if (at_op("|")) stmt->filter = TRY(filters(nullptr));
    stmt->body = TRY(whole_body("set", "endset"));
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> if_block(Position at) {
    auto stmt = std::make_unique<IfStmt>(at);
    while (true) {
      stmt->tests.push_back(TRY(tuple(Tuple{.conditional = false})));
      stmt->bodies.push_back(TRY(block_body("if", {"elif", "else", "endif"})));
      const std::string end = take().text;
      if (end == "else") stmt->otherwise = TRY(whole_body("if", "endif"));
      if (end != "elif") return stmt;
    }
  }

  Result<std::unique_ptr<Stmt>> for_loop(Position at) {
    auto stmt = std::make_unique<ForStmt>(at);
    stmt->target = TRY(assign_target(Target::plain, "in"));
    if (!skip_name("in")) return fail_at(now().at, "expected 'in', got {}", describe(now()));
    stmt->iter = TRY(tuple(Tuple{.conditional = false, .end = "recursive"}));
    if (skip_name("if")) stmt->test = TRY(expression());
    stmt->recursive = skip_name("recursive");
    const int scoped_before = scoped_blocks_;
    stmt->body = TRY(block_body("for", {"else", "endfor"}));
    if (take().text == "else") stmt->otherwise = TRY(whole_body("for", "endfor"));
    stmt->scoped_blocks = scoped_blocks_ > scoped_before;
    return stmt;
  }

  Result<> signature(MacroStmt& stmt) {
    TRY(expect_op("("));
    while (!at_op(")")) {
      if (!stmt.params.empty()) TRY(expect_op(","));
      const Position at = now().at;
      stmt.params.push_back(TRY(assign_target(Target::name_only)));
      for (size_t i = 0; i + 1 < stmt.params.size(); i++)
        if (stmt.params[i]->name == stmt.params.back()->name)
          return fail_at(at, "two parameters have this name");
      if (skip_op("=")) {
        stmt.defaults.push_back(TRY(expression()));
      } else if (!stmt.defaults.empty()) {
        return fail_at(now().at, "parameter without a default after one with a default");
      }
    }
    take();
    return {};
  }

  Result<std::unique_ptr<Stmt>> macro(Position at) {
    auto stmt = std::make_unique<MacroStmt>(StmtKind::macro, at);
    const ExprPtr name = TRY(assign_target(Target::name_only));
    stmt->name = name->name;
    TRY(signature(*stmt));
    stmt->body = TRY(whole_body("macro", "endmacro"));
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> call_block(Position at) {
    auto stmt = std::make_unique<MacroStmt>(StmtKind::call_block, at);
    if (at_op("(")) TRY(signature(*stmt));
    stmt->call = TRY(expression());
    if (stmt->call->kind != ExprKind::call) return fail_at(at, "expected a call in 'call'");
    stmt->body = TRY(whole_body("call", "endcall"));
    return stmt;
  }

  // Marks the assistant's text for training; a call block around the identity (`call` is null).
  Result<std::unique_ptr<Stmt>> generation(Position at) {
    auto stmt = std::make_unique<MacroStmt>(StmtKind::call_block, at);
    TRY(expect(Tok::block_end, "'%}'"));
    const std::string outer = std::exchange(open_, "generation");
    stmt->body = TRY(statements({"endgeneration"}));
    open_ = outer;
    take();
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> filter_block(Position at) {
    auto stmt = std::make_unique<FilterBlockStmt>(at);
    ExprPtr first = TRY(filter(nullptr));
    stmt->filter = TRY(filters(std::move(first)));
    stmt->body = TRY(whole_body("filter", "endfilter"));
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> with(Position at) {
    auto stmt = std::make_unique<WithStmt>(at);
    while (now().type != Tok::block_end) {
      if (!stmt->targets.empty()) TRY(expect_op(","));
      stmt->targets.push_back(TRY(assign_target(Target::plain)));
      TRY(expect_op("="));
      stmt->values.push_back(TRY(expression()));
    }
    stmt->body = TRY(whole_body("with", "endwith"));
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> block(Position at) {
    auto stmt = std::make_unique<BlockStmt>(at);
    stmt->name = TRY(expect_name("a block name"));
    stmt->scoped = skip_name("scoped");
    stmt->required = skip_name("required");
    scoped_blocks_ += stmt->scoped;
    stmt->body = TRY(whole_body("block", "endblock"));
    if (stmt->required && !is_blank(stmt->body))
      return fail_at(at, "the required block '{}' holds more than white space", stmt->name);
    skip_name(stmt->name);
    return stmt;
  }

  static bool is_blank(const Body& body) {
    const auto blank = [](const ExprPtr& part) {
      return part->kind == ExprKind::data &&
             strip(part->value.str().text(), Side::both, std::nullopt).empty();
    };
    return std::all_of(body.begin(), body.end(), [&](const auto& stmt) {
      if (stmt->kind != StmtKind::output) return false;
      const auto& parts = static_cast<const OutputStmt&>(*stmt).parts;
      return std::all_of(parts.begin(), parts.end(), blank);
    });
  }

  Result<std::unique_ptr<Stmt>> autoescape(Position at) {
    auto stmt = std::make_unique<AutoescapeStmt>(at);
    stmt->value = TRY(expression());
    stmt->body = TRY(whole_body("autoescape", "endautoescape"));
    autoescapes_ = true;
    return stmt;
  }

  Result<std::unique_ptr<Stmt>> print(Position at) {
    auto stmt = std::make_unique<OutputStmt>(at);
    while (now().type != Tok::block_end) {
      if (!stmt->parts.empty()) TRY(expect_op(","));
      stmt->parts.push_back(TRY(expression()));
    }
    return stmt;
  }

  std::string open_;  // the innermost block tag that is open
  int scoped_blocks_ = 0;
  bool autoescapes_ = false;
};

}  // namespace

Result<Tree> parse(std::string_view source) {
  std::vector<Token> tokens = TRY(tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace brass::jinja
