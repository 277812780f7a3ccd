// A trace: who was asked for, when, and how large it is. Read from libCacheSim's CSV or generated
// (generate.h). Objects are numbered densely, so policies keep their state in arrays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cachesim {

inline constexpr uint64_t kNeverAgain = UINT64_MAX;

struct Request {
  uint32_t time_s = 0;
  uint32_t object = 0;          // 0 .. objects-1
  uint32_t bytes = 0;           // of the body
  uint64_t next = kNeverAgain;  // position of the object's next request, for the offline bound
};

struct Trace {
  std::string name;
  std::vector<Request> requests;
  uint32_t objects = 0;

  // Fills in `next`. To be called once, when all requests are there.
  void link();
};

// Columns count from 1, as in libCacheSim's time-col, obj-id-col and obj-size-col. time 0: there is
// none, and a request takes a second. size 0: all objects have `unit_bytes`.
struct CsvOptions {
  uint32_t time_column = 1;
  uint32_t id_column = 2;
  uint32_t size_column = 3;
  uint32_t unit_bytes = 4096;
  bool has_header = false;
  char delimiter = ',';
};

struct CsvResult {
  Trace trace;
  std::string error;  // empty: fine; else one sentence with the line and what to do
};

// The text of a whole file. Ids are any text; two ids are one object only if they are equal.
CsvResult parseCsv(std::string_view text, const CsvOptions& options);

}  // namespace cachesim
