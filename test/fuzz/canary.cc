// Goal: prove that the fuzzing machinery finds faults. Method: a fault is planted behind a
// condition that no corpus file meets but that a few mutations reach; whoever runs this target
// expects it to die.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t at = input.find("GET");
  if (at != std::string_view::npos && input.substr(at + 3).find("GET") != std::string_view::npos) {
    std::abort();
  }
  return 0;
}
