// The words of tools/inspect, as text and as JSON.
#pragma once

#include <string>

#include "source/base/types.h"
#include "source/tools/inspect/objects.h"

namespace inspect {

// Keys may hold any byte: what is no printable ASCII is written as \xHH.
std::string printable(std::string_view text);

// Labels stand behind an object's line, one a line.
std::string listText(const Directory& directory, const Inventory& inventory, base::UnixSeconds now);
std::string listJson(const Directory& directory, const Inventory& inventory, base::UnixSeconds now);
std::string verifyText(const Directory& directory, const Findings& findings);
std::string verifyJson(const Directory& directory, const Findings& findings);

}  // namespace inspect
