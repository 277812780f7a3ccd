// Goal: operators' lines reach their file in the documented form, by level, from both sources, and
// after a rotation. Method: files in a temporary directory; the time of a shard's line is its own,
// so it is fixed.

#include "source/telemetry/sink/operator_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace telemetry {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class OperatorLogTest : public testing::Test {
 protected:
  OperatorLogTest() {
    const char* root = getenv("TEST_TMPDIR");
    std::string pattern = std::string(root == nullptr ? "/tmp" : root) + "/log_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/operator.log";
  }
  ~OperatorLogTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<OperatorLog> open(LogLevel level = LogLevel::info) {
    std::string why_not;
    std::unique_ptr<OperatorLog> log = OperatorLog::open(OperatorLogOptions{path_, level}, why_not);
    EXPECT_NE(log, nullptr) << why_not;
    return log;
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string folder_;
  std::string path_;
};

TEST_F(OperatorLogTest, WritesAShardsLineWithItsOwnTime) {
  auto log = open();
  LogRing ring;
  ring.write(LogLevel::warning, 3, 1769847330123, "accept paused");
  uint64_t dropped = 0;
  EXPECT_EQ(log->drain(ring, 1, dropped), 1u);
  log->flush();
  EXPECT_EQ(read(path_), "2026-01-31T08:15:30.123Z warning shard 1: accept paused\n");
}

TEST_F(OperatorLogTest, WritesLinesOfTheControlThreadAndHidesThoseBelowTheLevel) {
  auto log = open(LogLevel::info);
  log->write(LogLevel::debug, "hidden");
  log->write(LogLevel::info, "shown {} 100%");
  log->setLevel(LogLevel::debug);
  EXPECT_EQ(log->level(), LogLevel::debug);
  log->write(LogLevel::debug, "shown now");
  log->setLevel(LogLevel::off);
  log->write(LogLevel::critical, "hidden too");
  log->flush();
  EXPECT_THAT(read(path_), MatchesRegex("[0-9T:.-]+Z info shown \\{\\} 100%\n"
                                        "[0-9T:.-]+Z debug shown now\n"));
}

TEST_F(OperatorLogTest, NoTextCanForgeALine) {
  auto log = open();
  log->write(LogLevel::info, "a\n2026 info forged \xc3\xa9");
  log->flush();
  EXPECT_THAT(read(path_), HasSubstr("info a\\x0a2026 info forged \xc3\xa9\n"));
}

TEST_F(OperatorLogTest, TellsOnceHowManyLinesARingDropped) {
  auto log = open();
  LogRing ring;
  for (uint32_t i = 0; i < LogRing::kSlots + 3; i++) {
    ring.write(LogLevel::info, 0, 0, "x");
  }
  uint64_t dropped = 0;
  EXPECT_EQ(log->drain(ring, 0, dropped), uint64_t{LogRing::kSlots});
  EXPECT_EQ(dropped, 3u);
  log->flush();
  EXPECT_THAT(read(path_), HasSubstr("warning shard 0: 3 log lines dropped"));
  const size_t size = std::filesystem::file_size(path_);
  EXPECT_EQ(log->drain(ring, 0, dropped), 0u);
  log->flush();
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(OperatorLogTest, AppendsToWhatIsThereAndReopensAfterARotation) {
  std::ofstream(path_) << "old\n";
  auto log = open();
  log->write(LogLevel::info, "before");
  std::filesystem::rename(path_, path_ + ".1");
  std::string why_not;
  ASSERT_TRUE(log->reopen(why_not).ok()) << why_not;
  log->write(LogLevel::info, "after");
  log->flush();
  EXPECT_THAT(read(path_ + ".1"), MatchesRegex("old\n.* info before\n"));
  EXPECT_THAT(read(path_), MatchesRegex("[^\n]* info after\n"));
}

TEST_F(OperatorLogTest, AFailedReopenKeepsTheOldFile) {
  auto log = open();
  std::filesystem::rename(path_, path_ + ".1");
  std::filesystem::create_directory(path_);
  std::string why_not;
  EXPECT_FALSE(log->reopen(why_not).ok());
  EXPECT_THAT(why_not, HasSubstr(path_));
  log->write(LogLevel::info, "still here");
  log->flush();
  EXPECT_THAT(read(path_ + ".1"), HasSubstr("still here"));
}

TEST_F(OperatorLogTest, SaysWhyAFileCannotBeOpened) {
  std::string why_not;
  EXPECT_EQ(OperatorLog::open(OperatorLogOptions{folder_, LogLevel::info}, why_not), nullptr);
  EXPECT_THAT(why_not, HasSubstr(folder_));
}

TEST_F(OperatorLogTest, CountsLinesThatCannotBeWritten) {
  path_ = "/dev/full";
  auto log = open();
  log->write(LogLevel::info, "lost");
  log->flush();
  EXPECT_GT(log->failures(), 0u);
}

TEST_F(OperatorLogTest, StandardErrorIsTheDefaultAndCanBeReopened) {
  std::string why_not;
  testing::internal::CaptureStderr();
  auto log = OperatorLog::open(OperatorLogOptions{}, why_not);
  ASSERT_NE(log, nullptr);
  EXPECT_TRUE(log->reopen(why_not).ok());
  log->write(LogLevel::error, "to stderr");
  log->flush();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(" error to stderr\n"));
}

}  // namespace
}  // namespace telemetry
