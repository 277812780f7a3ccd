// A guard against cache deception: "/account.php/x.css" must not be stored as a style sheet when it
// is somebody's account page. A path whose last segment has the extension of a static file is
// stored only with a Content-Type of that kind.
#pragma once

#include <string_view>

namespace policy {

// path: as received, without the query. True for paths without a known extension. The type is
// compared without its parameters; an absent one fits nothing. An encoded or a parameterised
// extension ("/a%2Ecss", "/a.css;x") is looked at, too.
bool contentTypeFits(std::string_view path, std::string_view content_type);

}  // namespace policy
