// Goal: log lines cross from a shard to the control thread whole and in order, a full ring drops
// and counts, lines cannot be forged, and a call site's rate is limited. Method: single-threaded
// cases at the limits, and one run with two threads in which a line's text tells its number (also
// run under the thread sanitizer).

#include "source/telemetry/log_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace telemetry {
namespace {

TEST(LogRing, HandsRecordsOverInOrder) {
  LogRing ring;
  LogRecord record;
  EXPECT_FALSE(ring.read(record));
  ASSERT_TRUE(ring.write(LogLevel::warning, 7, 1234, "first"));
  ASSERT_TRUE(ring.write(LogLevel::error, 8, 1235, "second"));
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.view(), "first");
  EXPECT_EQ(record.level, LogLevel::warning);
  EXPECT_EQ(record.site, 7);
  EXPECT_EQ(record.unix_ms, 1234);
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.view(), "second");
  EXPECT_FALSE(ring.read(record));
}

TEST(LogRing, HoldsItsSlotsAndDropsTheNextLine) {
  LogRing ring;
  for (uint32_t i = 0; i < LogRing::kSlots; i++) {
    ASSERT_TRUE(ring.write(LogLevel::info, 0, i, "x"));
  }
  EXPECT_EQ(ring.dropped(), 0u);
  EXPECT_FALSE(ring.write(LogLevel::info, 0, 0, "one too many"));
  EXPECT_EQ(ring.dropped(), 1u);
  LogRecord record;
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.unix_ms, 0);
  EXPECT_TRUE(ring.write(LogLevel::info, 0, 99, "fits again"));
  for (uint32_t i = 1; i < LogRing::kSlots; i++) {
    ASSERT_TRUE(ring.read(record));
    EXPECT_EQ(record.unix_ms, i);
  }
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.view(), "fits again");
}

TEST(LogRing, CutsTextAtARecordsSize) {
  LogRing ring;
  LogRecord record;
  ring.write(LogLevel::info, 0, 0, std::string(LogRecord::kText_bytes, 'a'));
  ring.write(LogLevel::info, 0, 0, std::string(LogRecord::kText_bytes + 1, 'b'));
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.view(), std::string(LogRecord::kText_bytes, 'a'));
  ASSERT_TRUE(ring.read(record));
  EXPECT_EQ(record.view(), std::string(LogRecord::kText_bytes, 'b'));
}

TEST(LogRing, LosesAndReordersNothingBetweenTwoThreads) {
  constexpr uint32_t kLines = 20000;
  LogRing ring;
  std::thread writer([&ring] {
    for (uint32_t i = 0; i < kLines;) {
      const std::string text = "line " + std::to_string(i);
      if (ring.write(LogLevel::info, static_cast<uint16_t>(i), i, text)) {
        i++;
      } else {
        std::this_thread::yield();
      }
    }
  });
  LogRecord record;
  for (uint32_t i = 0; i < kLines;) {
    if (!ring.read(record)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(record.unix_ms, i);
    ASSERT_EQ(record.view(), "line " + std::to_string(i));
    i++;
  }
  writer.join();
  EXPECT_FALSE(ring.read(record));
}

TEST(LogLine, ComposesTextAndNumbers) {
  LogLine line;
  line << "pool " << std::string_view("main") << ": " << uint64_t{18446744073709551615u} << " of "
       << int32_t{-5};
  EXPECT_EQ(line.view(), "pool main: 18446744073709551615 of -5");
}

TEST(LogLine, EscapesControlBytesButNotUtf8) {
  LogLine line;
  line << std::string_view("a\nb\x1b[0m\x7f\0z \xc3\xa9", 13);
  EXPECT_EQ(line.view(), "a\\x0ab\\x1b[0m\\x7f\\x00z \xc3\xa9");
}

TEST(LogLine, MarksWhatIsCut) {
  const size_t room = LogRecord::kText_bytes - 3;
  LogLine full;
  full << std::string(room, 'a');
  EXPECT_EQ(full.view(), std::string(room, 'a'));
  full << "b" << "c";
  EXPECT_EQ(full.view(), std::string(room, 'a') + "...");
}

TEST(LogLevel, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(LogLevel::off); i++) {
    const LogLevel level = static_cast<LogLevel>(i);
    EXPECT_EQ(parseLogLevel(name(level)), level);
  }
  EXPECT_EQ(parseLogLevel("warn"), LogLevel::warning);
  EXPECT_EQ(parseLogLevel("err"), LogLevel::error);
  EXPECT_FALSE(parseLogLevel("Info"));
  EXPECT_FALSE(parseLogLevel(""));
}

TEST(LogLimit, AllowsItsBurstInEachIntervalAndTellsWhatItLeftOut) {
  LogLimit limit(2, base::kSecond_ns);
  uint64_t suppressed = 99;
  const base::MonoTime start{5 * base::kSecond_ns};
  EXPECT_TRUE(limit.allow(start, suppressed));
  EXPECT_EQ(suppressed, 0u);
  EXPECT_TRUE(limit.allow(start + 1, suppressed));
  EXPECT_FALSE(limit.allow(start + 2, suppressed));
  EXPECT_FALSE(limit.allow(start + (base::kSecond_ns - 1), suppressed));
  EXPECT_TRUE(limit.allow(start + base::kSecond_ns, suppressed));
  EXPECT_EQ(suppressed, 2u);
  EXPECT_TRUE(limit.allow(start + base::kSecond_ns, suppressed));
  EXPECT_EQ(suppressed, 0u);
  EXPECT_EQ(limit.suppressedTotal(), 2u);
}

}  // namespace
}  // namespace telemetry
