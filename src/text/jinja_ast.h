// The syntax tree of a template.
//
// Owns: Expr, Stmt and its kinds, Scope and Slot: where variables live at run time.
// Must not know: how any of it is executed.
// Invariants: depth of an expression and of nested statements is bounded by the parser, so walks may recurse.
// After resolve() (jinja_scope.h) every name has a slot. Immutable from then on, and shared by threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/jinja_lexer.h"
#include "text/jinja_value.h"

namespace brass::jinja {

// A variable: `index` into the slots of the activation that lies `hops` functions further out.
struct Slot {
  uint32_t hops = 0;
  uint32_t index = 0;
};

// What happens to a scope's variables when it is entered: taken from the context by name, copied from an
// outer variable, or made undefined.
struct Load {
  enum Kind : uint8_t { resolve, alias, undefine } kind = undefine;
  uint32_t index = 0;  // the slot, in the current activation
  Slot from;           // alias
  Value name;          // resolve
};
struct Scope {
  std::vector<Load> loads;
  std::vector<uint32_t> owned;  // all slots of the scope: undefined again when it is left
};

enum class ExprKind : uint8_t {
  constant,     // value
  data,         // value: text between tags; only as a part of an output
  name,         // name, slot; value is the name too
  ns_target,    // name '.' value, slot; only as a target
  tuple,        // kids
  list,         // kids
  dict,         // kids: key, value, key, value, …
  attribute,    // kids[0] '.' value
  item,         // kids[0] '[' kids[1] ']'
  slice,        // kids: start, stop, step (null where absent); only as the index of an item
  call,         // kids[0] '(' kids[1…], keywords, star, star_star ')'
  filter,       // kids[0] (null in a filter block) '|' name '(' kids[1…] … ')'
  test,         // kids[0] 'is' name '(' kids[1…] … ')'
  negate,       // kids[0]
  plus,         // kids[0]
  not_,         // kids[0]
  and_,         // kids[0], kids[1]
  or_,          // kids[0], kids[1]
  conditional,  // kids: test, then, else (null where absent)
  concat,       // kids
  binary,       // kids[0] op kids[1]
  compare       // kids[0] compares[0] kids[1] compares[1] kids[2] …
};
enum class BinaryOp : uint8_t { add, sub, mul, div, floordiv, mod, pow };
enum class CompareOp : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };

// Whether a place escapes HTML, where that is known before the template runs; `asked`: it asks the render.
enum class Escape : uint8_t { off, on, asked };

struct Builtin;  // a filter or test (jinja_runtime.h)
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct Keyword {
  Value name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind;
  BinaryOp op = BinaryOp::add;
  uint16_t depth = 1;
  bool folded = false;  // computed by Jinja as it compiles (jinja_fold.h)
  Escape escape = Escape::off;
  Position at;
  Slot slot;
  Value value;
  std::string name;
  const Builtin* builtin = nullptr;  // filter and test; null if there is none of that name
  std::vector<ExprPtr> kids;
  std::vector<CompareOp> compares;
  std::vector<Keyword> keywords;
  ExprPtr star, star_star;
};

enum class StmtKind : uint8_t {
  output,
  set,
  set_block,
  if_,
  for_,
  macro,
  call_block,
  filter_block,
  with,
  autoescape,
  block,
  break_,
  continue_
};

struct Stmt {
  Stmt(StmtKind k, Position p) : kind(k), at(p) {}
  virtual ~Stmt() = default;
  StmtKind kind;
  Position at;
  bool exported = false;  // set, set block, macro: at the top level, so blocks see what it assigns
};
using Body = std::vector<std::unique_ptr<Stmt>>;

struct OutputStmt : Stmt {
  explicit OutputStmt(Position p) : Stmt(StmtKind::output, p) {}
  std::vector<ExprPtr> parts;
};
struct SetStmt : Stmt {
  explicit SetStmt(Position p) : Stmt(StmtKind::set, p) {}
  ExprPtr target, value;
};
struct SetBlockStmt : Stmt {
  explicit SetBlockStmt(Position p) : Stmt(StmtKind::set_block, p) {}
  ExprPtr target, filter;      // filter may be null
  Escape input = Escape::off;  // of the filter
  Body body;
  Scope scope;
};
struct IfStmt : Stmt {
  explicit IfStmt(Position p) : Stmt(StmtKind::if_, p) {}
  std::vector<ExprPtr> tests;
  std::vector<Body> bodies;  // one per test
  Body otherwise;
};
struct ForStmt : Stmt {
  explicit ForStmt(Position p) : Stmt(StmtKind::for_, p) {}
  ExprPtr target, iter, test;  // test may be null
  bool recursive = false;
  bool scoped_blocks = false;  // there are some inside
  Escape made = Escape::off;   // what a recursive loop makes
  Body body, otherwise;
  bool extended = false;  // the body may ask for `loop`, at loop_slot
  uint32_t loop_slot = 0;
  Scope scope, else_scope, test_scope;
  ExprPtr test_target;      // the target again, in the slots of the test
  uint32_t slots = 0;       // of the activation of a recursive loop
  uint32_t test_slots = 0;  // of the activation of the test
};
// A macro, or the body of a call block (`name` empty).
struct MacroStmt : Stmt {
  MacroStmt(StmtKind k, Position p) : Stmt(k, p) {}
  std::string name;
  std::vector<ExprPtr> params;    // names
  std::vector<ExprPtr> defaults;  // of the last params
  Body body;
  ExprPtr call;                                               // call block only
  Slot slot;                                                  // of the macro's own name
  int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;  // -1: not used in the body
  Scope scope;
  uint32_t slots = 0;
};
struct FilterBlockStmt : Stmt {
  explicit FilterBlockStmt(Position p) : Stmt(StmtKind::filter_block, p) {}
  ExprPtr filter;
  Escape input = Escape::off;
  Body body;
  Scope scope;
};
struct WithStmt : Stmt {
  explicit WithStmt(Position p) : Stmt(StmtKind::with, p) {}
  std::vector<ExprPtr> targets, values;
  Body body;
  Scope scope;
};
struct AutoescapeStmt : Stmt {
  explicit AutoescapeStmt(Position p) : Stmt(StmtKind::autoescape, p) {}
  ExprPtr value;
  Body body;
  Scope scope;
};
struct BlockStmt : Stmt {
  explicit BlockStmt(Position p) : Stmt(StmtKind::block, p) {}
  std::string name;
  bool scoped = false, required = false;
  Body body;
  Scope scope;
  uint32_t slots = 0;
  int self_slot = -1, super_slot = -1;         // -1: not used in the body
  std::vector<std::pair<Value, Slot>> around;  // scoped: the variables that it is given, by name
};
struct JumpStmt : Stmt {
  JumpStmt(StmtKind k, Position p) : Stmt(k, p) {}
};

struct Tree {
  Body body;
  Scope scope;
  uint32_t slots = 0;
  int self_slot = -1;  // -1: not used outside of blocks
  bool has_autoescape = false;
  std::map<std::string, const BlockStmt*, std::less<>> blocks;
};

}  // namespace brass::jinja
