#pragma once

#include "eal/eal.h"

#include <string>
#include <vector>

namespace mqsteer {

/// The one Eal of this program, on ordinary pages.
Eal& eal();
/// The lines DPDK logged from its start on.
std::vector<std::string> logged_lines();
/// A CPU of this process that has a polling lcore.
std::uint16_t polling_cpu();

}  // namespace mqsteer
