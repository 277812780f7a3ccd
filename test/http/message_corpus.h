// Good and bad messages, each with the outcome that its RFC clause asks for. Shared by the table
// test and by the split-invariance test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/base/result.h"

namespace test {

struct HeadCase {
  std::string_view clause;
  std::string bytes;
  base::Code code;  // ok: a complete, valid head
};

const std::vector<HeadCase>& requestCases();
const std::vector<HeadCase>& responseCases();

}  // namespace test
