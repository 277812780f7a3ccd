// RecordReader: reads that are begun before they are wanted.
#include "source/store/io/record_reader.h"

namespace store {

RecordRef RecordReader::ahead(RecordFile file, Location at) {
  const uint32_t bytes = at.length_units * kUnitBytes;
  Lane& lane = laneOf(file.disk);
  const bool room = pool_.bytesInUse() + bytes <= pool_.region().size() / 2 &&
                    lane.in_flight.available() > lane.in_flight.limit() / 2;
  if (at.sequence == 0 || bytes == 0 || bytes > rt::BufferPool::kMax_bytes || !room ||
      lane.health.out()) {
    return {};
  }
  SharedRead* read = find(file, at);
  if (read != nullptr) {
    return RecordRef(*this, *read);
  }
  read = &begin(file, at);
  read->ahead = true;
  stats_.ahead++;
  RecordRef ref(*this, *read);
  const bool spawned = tasks_.spawn(run(read));
  CHECK(spawned);
  return ref;
}

}  // namespace store
