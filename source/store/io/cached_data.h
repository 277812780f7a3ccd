// The page cache's side of a stripe's data, for caches with disk_io: SENDFILE. Records are written
// past the page cache and sent from it, so a page that a socket still holds must never change: what
// is written there is another page. checkHeldPages() tries whether the file system keeps to that.
#pragma once

#include <string>

#include "source/store/io/stripe_files.h"

namespace store {

// All return an empty string, or a sentence for an operator.

// In a file of its own, which is gone afterwards.
std::string checkHeldPages(const std::string& directory);
// Sets cached_fd and mapped; `path` is the data's, and the superblock is known.
std::string openCached(StripeFiles& files, const std::string& path);
void closeCached(StripeFiles& files);

}  // namespace store
