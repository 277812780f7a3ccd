// Goal: "did you mean" finds the word that was meant and keeps silent otherwise; UTF-8 is told from
// what is not.
// Method: distances counted by hand; sequences from RFC 3629 section 4 and their neighbours.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "source/config/model/edit_distance.h"
#include "source/config/model/utf8.h"

namespace config {
namespace {

TEST(EditDistance, CountsSingleEdits) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abc", "abc"), 0u);
  EXPECT_EQ(editDistance("ABC", "abc"), 0u);
  EXPECT_EQ(editDistance("adress", "address"), 1u);
  EXPECT_EQ(editDistance("nmae", "name"), 1u);  // a swap is one
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(EditDistance, LongWordsAreComparedUpToALimit) {
  const std::string word(kMaxComparedWord, 'a');
  EXPECT_EQ(editDistance(word, word + "bbb"), 0u);
  EXPECT_EQ(editDistance(std::string(kMaxComparedWord + 5, 'b'), word), kMaxComparedWord);
}

TEST(Nearest, TakesTheNearestWithinReason) {
  const std::array<std::string_view, 4> words = {"address", "admin", "name", "via"};
  EXPECT_EQ(nearest("adress", words), "address");
  EXPECT_EQ(nearest("nmea", words), "name");
  EXPECT_EQ(nearest("vai", words), "via");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("q", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("listener", words), "");
}

TEST(Utf8, KnowsWellFormedSequences) {
  EXPECT_EQ(utf8SequenceBytes("a"), 1u);
  EXPECT_EQ(utf8SequenceBytes("\xc2\x80"), 2u);
  EXPECT_EQ(utf8SequenceBytes("\xdf\xbf"), 2u);
  EXPECT_EQ(utf8SequenceBytes("\xe0\xa0\x80"), 3u);
  EXPECT_EQ(utf8SequenceBytes("\xed\x9f\xbf"), 3u);
  EXPECT_EQ(utf8SequenceBytes("\xef\xbf\xbf"), 3u);
  EXPECT_EQ(utf8SequenceBytes("\xf0\x90\x80\x80"), 4u);
  EXPECT_EQ(utf8SequenceBytes("\xf4\x8f\xbf\xbf"), 4u);
}

TEST(Utf8, RefusesWhatIsNot) {
  for (const std::string_view text :
       {"\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x90\x80"}) {
    EXPECT_EQ(utf8SequenceBytes(text), 0u);
  }
}

}  // namespace
}  // namespace config
