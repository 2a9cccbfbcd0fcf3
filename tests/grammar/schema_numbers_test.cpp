// Sets of numbers against arithmetic.
#include "text/grammar/schema_numbers.h"

#include <gtest/gtest.h>

#include <random>

namespace brass::grammar::schema {
namespace {

// A text of hundredths: 1234 is 12.34. `zeros` more are added to the fraction.
std::string text_of(int64_t hundredths, int zeros) {
  const int64_t magnitude = std::abs(hundredths);
  std::string fraction = std::to_string(magnitude % 100 + 100).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  fraction += std::string(static_cast<size_t>(zeros), '0');
  return (hundredths < 0 ? "-" : "") + std::to_string(magnitude / 100) +
         (fraction.empty() ? "" : "." + fraction);
}

Decimal decimal(int64_t hundredths) { return *parse_decimal(text_of(hundredths, 0)); }

TEST(SchemaNumbers, BoundsAreThoseOfArithmetic) {
  std::mt19937_64 random(7);
  NumberSets sets;
  for (int round = 0; round < 60; round++) {
    const auto bound = static_cast<int64_t>(random() % 4000) - 2000;
    const NumberId less = *sets.compared(decimal(bound), true, false, false);
    const NumberId least = *sets.compared(decimal(bound), false, true, true);
    for (int i = 0; i < 200; i++) {
      const int64_t value = i < 40 ? bound + i - 20 : static_cast<int64_t>(random() % 6000) - 3000;
      const std::string text = text_of(value, i % 3);
      EXPECT_EQ(sets.automaton(less).matches(text), value < bound) << text << " < " << bound;
      EXPECT_EQ(sets.automaton(least).matches(text), value >= bound) << text << " >= " << bound;
    }
    EXPECT_EQ(*sets.both(less, least), sets.none());
    EXPECT_EQ(*sets.either(std::array{less, least}), sets.all());
    EXPECT_EQ(*sets.outside(less), least);
  }
}

TEST(SchemaNumbers, MultiplesAreThoseOfArithmetic) {
  NumberSets sets;
  for (const int64_t of : {100, 200, 300, 700, 1000, 6000, 25, 1, 150, 37, 100000, 12800}) {
    const NumberId multiples = *sets.multiples(decimal(of));
    for (int64_t value = -3000; value < 3000; value++)
      EXPECT_EQ(sets.automaton(multiples).matches(text_of(value, static_cast<int>(value & 1))),
                value % of == 0)
          << value << " % " << of;
    for (int64_t times = 1; times < 200; times++)
      EXPECT_TRUE(sets.automaton(multiples).matches(text_of(of * times * 999983, 0)));
  }
  EXPECT_FALSE(sets.multiples(*parse_decimal("0.123456789")));
  EXPECT_FALSE(sets.multiples(*parse_decimal("0")));
}

TEST(SchemaNumbers, ListsHoldEverySpelling) {
  NumberSets sets;
  const NumberId set = sets.values({decimal(100), decimal(150), decimal(151), decimal(0), decimal(-1000)});
  const Automaton& automaton = sets.automaton(set);
  for (const char* text :
       {"1", "1.0", "1.00", "1.5", "1.50", "1.51", "1.510", "0", "-0", "0.0", "-0.00", "-10", "-10.0"})
    EXPECT_TRUE(automaton.matches(text)) << text;
  for (const char* text :
       {"", "-", "1.", "1.01", "1.501", "1.511", "01", "10", "0.1", "-1", "-10.01", "1.5.0"})
    EXPECT_FALSE(automaton.matches(text)) << text;
  EXPECT_EQ(*sets.both(set, sets.integers()), sets.values({decimal(100), decimal(0), decimal(-1000)}));
}

TEST(SchemaNumbers, ShortestSpellings) {
  NumberSets sets;
  const Automaton whole = *sets.shortest(sets.integers());
  EXPECT_TRUE(whole.matches("120"));
  EXPECT_FALSE(whole.matches("120.0"));
  const Automaton positive = *sets.shortest(*sets.compared(decimal(0), false, false, true));
  for (const char* text : {"1", "1.0", "0.5", "10.05"}) EXPECT_TRUE(positive.matches(text)) << text;
  for (const char* text : {"1.00", "0.50", "0.0", "-1", "0"}) EXPECT_FALSE(positive.matches(text)) << text;
}

TEST(SchemaDecimals, OneFormAValue) {
  for (const auto& [text, plainly] :
       std::initializer_list<std::pair<const char*, const char*>>{{"1e3", "1000"},
                                                                  {"1.50", "1.5"},
                                                                  {"-0.0e7", "0"},
                                                                  {"12.5E-3", "0.0125"},
                                                                  {"100e-2", "1"},
                                                                  {"0.1e+1", "1"}})
    EXPECT_EQ(plain(*parse_decimal(text)), plainly);
  EXPECT_FALSE(parse_decimal("1e999999999999"));
  EXPECT_EQ(plain(*parse_decimal("0e999999999999")), "0");
}

}  // namespace
}  // namespace brass::grammar::schema
