// The chunked transfer coding (RFC 9112 section 7): an incremental decoder that hands out views of
// its input and copies nothing but trailers, and the pieces an encoder writes around its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/result.h"
#include "source/http/head.h"

namespace http {

// Each is the largest amount accepted; more is bad_framing (trailers: head_too_large).
struct ChunkLimits {
  uint32_t extension_bytes = 1024;         // of one chunk, from behind the size to CRLF
  uint32_t extension_total_bytes = 16384;  // of a whole body
  uint32_t trailer_bytes = 8192;           // the trailer section with its blank line
  uint16_t trailer_fields = 64;
};

// Decodes one body. The outcome does not depend on how the input is cut.
class ChunkDecoder {
 public:
  // data is a view of the input, at most one piece of a chunk. At the end data is empty, and what
  // lies behind `consumed` belongs to the next message.
  struct Step {
    uint32_t consumed = 0;
    std::span<const std::byte> data;
    bool end = false;
  };

  explicit ChunkDecoder(base::Blame blame = base::Blame::upstream, const ChunkLimits& limits = {})
      : limits_(limits), blame_(blame) {}
  // Movable; a copy's trailers would view the original's text.
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;
  ChunkDecoder(ChunkDecoder&&) = default;
  ChunkDecoder& operator=(ChunkDecoder&&) = default;

  // Takes bytes until it can hand out data, has seen the end, or has used up the input; call it
  // again with the bytes behind `consumed`. Non-empty input gives consumed > 0 until the end. An
  // error is final.
  base::Result<Step> feed(std::span<const std::byte> input);

  bool ended() const { return state_ == State::done; }
  // The data bytes still to come of the chunk being read: a hint for the next read's size.
  uint64_t remainingInChunk() const { return state_ == State::data ? remaining_ : 0; }

  // The trailer section, after the end, without names that may not stand in trailers (RFC
  // 9110 6.5.1). Views into the decoder.
  const Fields& trailers() const { return trailers_; }

  // Ready for another body; keeps the buffers.
  void reset();

 private:
  enum class State : uint8_t {
    size_first,
    size,
    size_space,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer,
    done,
    failed,
  };

  base::Error fail(base::Code code);
  base::Code takeSizeLine(char c);
  base::Code takeExtension(char c);
  base::Code endSizeLine();
  base::Code takeTrailer(std::span<const std::byte> input, uint32_t& at);
  base::Code finishTrailers();

  ChunkLimits limits_;
  base::Blame blame_;
  State state_ = State::size_first;
  base::Code failure_ = base::Code::ok;
  uint8_t digits_ = 0;
  uint32_t extension_bytes_ = 0;
  uint32_t extension_total_bytes_ = 0;
  uint64_t remaining_ = 0;
  std::vector<char> trailer_text_;  // not a string: views into it must survive a move
  Fields trailers_;
};

// A field of this name must not be merged or forwarded from a trailer section (RFC 9110 6.5.1).
bool forbiddenInTrailers(Name id);

// Encoder. A chunk is its head, the data, and kChunkEnd; the body ends with kLastChunk, or with
// appendLastChunk() when there are trailers. An empty chunk must not be written: it would end the
// body.
inline constexpr size_t kChunkHeadSize = 18;  // 16 hexadecimal digits and CRLF
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Writes "1a2b\r\n" and returns the part of the buffer that was written.
std::string_view writeChunkHead(uint64_t size, std::span<char, kChunkHeadSize> out);
// "0", the trailers but forbidden ones, and the blank line.
void appendLastChunk(std::string& out, const Fields& trailers);

}  // namespace http
