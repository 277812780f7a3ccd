// Runs a fuzz target's entry point without libFuzzer: every corpus file as it is, the empty input,
// and then a fixed sequence of mutations of them. The sequence depends on the seed and on the
// corpus alone, so a fault found here is found again by the same command; the input that dies is
// saved besides.
//
// Usage: target_replay [--mutations=N] [--seed=N] [--max_ms=N] FILE|FOLDER...

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) __attribute__((weak));
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMaxInputBytes = 64 * 1024;

struct Options {
  uint64_t mutations = 4000;
  uint64_t seed = 1;
  uint64_t max_ms = 1500;
  std::vector<std::string> paths;
};

// SplitMix64: small, seedable, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // Uniform enough in [0, n); 0 if n is 0.
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }

 private:
  uint64_t state_;
};

// Tokens that parsers of HTTP, of configuration and of records branch on.
constexpr std::string_view kTokens[] = {
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    ": ",
    ",",
    ";",
    "=",
    "\"",
    "\\",
    "*",
    "/",
    "?",
    "-",
    "0",
    "GET",
    "HEAD",
    "POST",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/2.0",
    " 200 OK\r\n",
    " 304 ",
    "Host: a\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Expect: 100-continue\r\n",
    "Cache-Control: ",
    "max-age=",
    "s-maxage=1",
    "no-store",
    "no-cache=\"a\"",
    "private",
    "stale-while-revalidate=9",
    "Vary: *\r\n",
    "W/\"x\"",
    "bytes=0-1,-1",
    "bytes 0-4/5",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "FFFFFFFFFFFFFFFF\r\n",
    "http://[::1]:80/",
    "%2e%2e%2f",
    "4294967296",
    "2147483648",
    "9223372036854775807",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "~",
    "&a",
    "*a",
    "\xff\xfe",
    std::string_view("\0", 1),
    std::string_view("\0\0\0\0\0\0\0\0", 8),
    "\xff\xff\xff\xff",
};

// What the process is running right now, for the handlers that save it on death.
const Bytes* current_input = nullptr;
char crash_path[4096];

void saveCurrentInput() {
  if (current_input == nullptr) {
    return;
  }
  const Bytes* input = current_input;
  current_input = nullptr;
  const int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    (void)!write(fd, input->data(), input->size());
    close(fd);
    (void)!write(2, "input saved as ", 15);
    (void)!write(2, crash_path, strlen(crash_path));
    (void)!write(2, "\n", 1);
  }
}

void onFatalSignal(int signal_number) {
  saveCurrentInput();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void installDeathHandlers() {
  const char* folder = getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  snprintf(crash_path, sizeof(crash_path), "%s/crash_input", folder == nullptr ? "." : folder);
  // A sanitizer has handlers of its own, except for what abort() raises.
  signal(SIGABRT, onFatalSignal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(saveCurrentInput);
    return;
  }
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    signal(signal_number, onFatalSignal);
  }
}

void flipBits(Random& random, Bytes& bytes) {
  for (size_t i = random.below(4) + 1; i > 0 && !bytes.empty(); --i) {
    bytes[random.below(bytes.size())] ^= static_cast<uint8_t>(1u << random.below(8));
  }
}

void overwriteByte(Random& random, Bytes& bytes) {
  if (!bytes.empty()) {
    bytes[random.below(bytes.size())] = static_cast<uint8_t>(random.next());
  }
}

void truncate(Random& random, Bytes& bytes) {
  bytes.resize(random.below(bytes.size() + 1));
}

void eraseRange(Random& random, Bytes& bytes) {
  const size_t from = random.below(bytes.size());
  const size_t count = std::min(bytes.size() - from, random.below(16) + 1);
  bytes.erase(bytes.begin() + from, bytes.begin() + from + count);
}

void duplicateRange(Random& random, Bytes& bytes) {
  const size_t from = random.below(bytes.size());
  const size_t count = std::min(bytes.size() - from, random.below(64) + 1);
  const Bytes piece(bytes.begin() + from, bytes.begin() + from + count);
  const size_t at = random.below(bytes.size() + 1);
  bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
}

void insertToken(Random& random, Bytes& bytes) {
  const std::string_view token = kTokens[random.below(std::size(kTokens))];
  const size_t at = random.below(bytes.size() + 1);
  bytes.insert(bytes.begin() + at, token.begin(), token.end());
}

void overwriteToken(Random& random, Bytes& bytes) {
  const std::string_view token = kTokens[random.below(std::size(kTokens))];
  const size_t at = random.below(bytes.size());
  const size_t count = std::min(token.size(), bytes.size() - at);
  std::copy_n(token.begin(), count, bytes.begin() + at);
}

void splice(Random& random, Bytes& bytes, const Bytes& other) {
  bytes.resize(random.below(bytes.size() + 1));
  bytes.insert(bytes.end(), other.begin() + random.below(other.size() + 1), other.end());
}

Bytes mutate(Random& random, const std::vector<Bytes>& corpus) {
  Bytes bytes = corpus[random.below(corpus.size())];
  for (size_t i = random.below(5) + 1; i > 0; --i) {
    switch (random.below(8)) {
      case 0:
        flipBits(random, bytes);
        break;
      case 1:
        overwriteByte(random, bytes);
        break;
      case 2:
        truncate(random, bytes);
        break;
      case 3:
        eraseRange(random, bytes);
        break;
      case 4:
        duplicateRange(random, bytes);
        break;
      case 5:
        insertToken(random, bytes);
        break;
      case 6:
        overwriteToken(random, bytes);
        break;
      default:
        splice(random, bytes, corpus[random.below(corpus.size())]);
    }
  }
  if (bytes.size() > kMaxInputBytes) {
    bytes.resize(kMaxInputBytes);
  }
  return bytes;
}

// The target gets an exact heap copy, so that a sanitizer sees every read past its end.
void run(const Bytes& input) {
  current_input = &input;
  uint8_t* copy = new uint8_t[input.size()];
  std::copy(input.begin(), input.end(), copy);
  LLVMFuzzerTestOneInput(copy, input.size());
  delete[] copy;
  current_input = nullptr;
}

bool readFile(const std::filesystem::path& path, std::vector<Bytes>& corpus) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fprintf(stderr, "cannot read corpus file %s\n", path.c_str());
    return false;
  }
  corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}

bool readCorpus(const std::vector<std::string>& paths, std::vector<Bytes>& corpus) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    if (!readFile(file, corpus)) {
      return false;
    }
  }
  return true;
}

bool parseNumber(std::string_view argument, std::string_view flag, uint64_t& value) {
  if (!argument.starts_with(flag)) {
    return false;
  }
  const std::string_view digits = argument.substr(flag.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size();
}

bool parseOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) {
      options.paths.emplace_back(argument);
    } else if (!parseNumber(argument, "--mutations=", options.mutations) &&
               !parseNumber(argument, "--seed=", options.seed) &&
               !parseNumber(argument, "--max_ms=", options.max_ms)) {
      fprintf(stderr, "unknown or malformed option %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) {
    LLVMFuzzerInitialize(&argc, &argv);
  }
  Options options;
  std::vector<Bytes> corpus;
  if (!parseOptions(argc, argv, options) || !readCorpus(options.paths, corpus)) {
    return 2;
  }
  installDeathHandlers();
  for (const Bytes& input : corpus) {
    run(input);
  }
  const size_t corpus_files = corpus.size();
  corpus.emplace_back();
  run(corpus.back());

  Random random(options.seed);
  const auto started = std::chrono::steady_clock::now();
  const auto limit = std::chrono::milliseconds(options.max_ms);
  uint64_t done = 0;
  while (done < options.mutations && std::chrono::steady_clock::now() - started < limit) {
    const Bytes input = mutate(random, corpus);
    run(input);
    ++done;
  }
  printf("%zu corpus files and %llu mutations passed (seed %llu)\n", corpus_files,
         static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed));
  return 0;
}
