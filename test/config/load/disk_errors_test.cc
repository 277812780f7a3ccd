// Goal: what is wrong with the disks of a cache is found, in its place. Method: a configuration
// that is right, with lines of a cache put in; the first finding is compared, position and all.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "source/config/load/load.h"

namespace config {
namespace {

// The cache's lines come behind it, from line 5 on.
constexpr std::string_view kBegin =
    "static_resources:\n"                                                            // 1
    "  listeners: [ { name: web, address: { socket_address: { address: 127.0.0.1, "  // 2
    "port_value: 80 } }, route_config: { virtual_hosts: [ { name: v, domains: ['*'], routes: [ "
    "{ match: { prefix: / }, direct_response: { status: 200 } } ] } ] } } ]\n"
    "  caches:\n"        // 3
    "  - name: main\n";  // 4
constexpr std::string_view kOwn = "    path: cache\n    max_size_bytes: 1073741824\n";

std::string findingsOf(const std::string& lines) {
  LoadReport report;
  static_cast<void>(load(Sources{"c.yaml", std::string(kBegin) + lines, ""}, report));
  return report.text();
}

struct Case {
  std::string_view name;
  std::string_view lines;    // behind path (5) and max_size_bytes (6)
  std::string_view finding;  // after "c.yaml:"; the first
};

constexpr Case kCases[] = {
    {"DiskWithoutPath", "    disks: [ { max_size_bytes: 16777216 } ]",
     "7:14: static_resources.caches[0].disks[0].path: is required\n"},
    {"DiskOfNoSize", "    disks: [ { path: /b } ]",
     "7:14: static_resources.caches[0].disks[0].max_size_bytes: is required\n"},
    {"DiskBelowTheLeast", "    disks: [ { path: /b, max_size_bytes: 16777215 } ]",
     "7:42: static_resources.caches[0].disks[0].max_size_bytes: must be from 16777216 to "
     "17592186044416, not 16777215; did you mean `16777216`?\n"},
    {"DiskOnTheCachesPath", "    disks: [ { path: ./x/../cache/, max_size_bytes: 16777216 } ]",
     "7:22: static_resources.caches[0].disks[0].path: cache `main` has the same path\n"},
    {"DiskInTheCachesPath", "    disks: [ { path: cache/a/b, max_size_bytes: 16777216 } ]",
     "7:22: static_resources.caches[0].disks[0].path: lies in a directory of cache `main`\n"},
    {"CacheInADiskOfAnother",
     "    disks: [ { path: /m/b, max_size_bytes: 16777216 } ]\n"
     "  - { name: other, path: /m/b/c, max_size_bytes: 16777216 }",
     "8:26: static_resources.caches[1].path: lies in a directory of cache `main`\n"},
    {"TooManyStripesOnAllDisks",
     "    stripes: 1000\n"
     "    disks: [ { path: /b, max_size_bytes: 1073741824 },\n"
     "             { path: /c, max_size_bytes: 1073741824 },\n"
     "             { path: /d, max_size_bytes: 1073741824 },\n"
     "             { path: /e, max_size_bytes: 1073741824 } ]",
     "7:14: static_resources.caches[0].stripes: makes more than 4096 stripes on 5 disks\n"},
};

class DiskErrors : public testing::TestWithParam<Case> {};

TEST_P(DiskErrors, IsFound) {
  const Case& test = GetParam();
  const std::string findings = findingsOf(std::string(kOwn) + std::string(test.lines) + "\n");
  EXPECT_TRUE(findings.starts_with("c.yaml:" + std::string(test.finding))) << findings;
}

INSTANTIATE_TEST_SUITE_P(All, DiskErrors, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// A directory whose name only begins with another's does not lie in it.
TEST(Disks, NeighboursAreRight) {
  EXPECT_EQ(findingsOf(std::string(kOwn) +
                       "    disks: [ { path: cache-b, max_size_bytes: 16777216 }, { path: cach, "
                       "max_size_bytes: 16777216 } ]\n"),
            "");
}

// 16 directories with the cache's own.
TEST(Disks, UpToTheirLimitAndOneMore) {
  const auto disks = [](int count) {
    std::string text = "    disks:\n";
    for (int i = 0; i < count; i++) {
      text += "    - { path: /d" + std::to_string(i) + ", max_size_bytes: 16777216 }\n";
    }
    return text;
  };
  const std::string own(kOwn);
  EXPECT_EQ(findingsOf(own + disks(15)), "");
  EXPECT_NE(findingsOf(own + disks(16)), "");
  EXPECT_EQ(findingsOf(disks(16)), "");
  EXPECT_NE(findingsOf(disks(17)), "");
}

}  // namespace
}  // namespace config
