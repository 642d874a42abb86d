#include "handler_choice.h"

#include "handlers/forward.h"
#include "handlers/rr.h"
#include "handlers/sink.h"

#include <algorithm>
#include <memory>
#include <new>

namespace mqsteer {
namespace {

/// Memory for the tables that all workers share, and the tables, in that order of life.
struct RrTables {
  RrTables(const RrSettings& settings, std::uint16_t lcores)
      : memory{-1}, shared{settings, lcores, tsc_hz(), memory} {}
  RteMemory memory;
  RrShared shared;
};

HandlerNeeds needs_of(const RrSettings& settings) {
  return {.hands_over = Rr::kHandsOver, .bytes = rr_memory_bytes(settings, 1)};
}

Expected<ChosenHandler> choose_rr(const Config& config, const std::vector<PortCapabilities>& ports,
                                  std::uint16_t lcores) {
  const auto at = std::ranges::find(config.ports, config.rr.port, &PortConfig::name);
  const auto index = static_cast<std::size_t>(at - config.ports.begin());
  const PortCapabilities& port = ports[index];
  const auto settings = rr_settings(config.rr, port.id, port.mac, at->mtu.value_or(port.mtu));
  if (!settings) return tl::unexpected(settings.error());
  std::shared_ptr<RrTables> tables;
  try {
    tables = std::make_shared<RrTables>(*settings, lcores);
  } catch (const std::bad_alloc&) {
    return fail("rr.connections: tables for " + std::to_string(config.rr.connections) +
                " connections a worker do not fit into DPDK's memory; lower it");
  }
  return ChosenHandler{.loops =
                           [tables](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
                             Rr handler{tables->shared, WorkerId{parts.worker}, memory};
                             return std::make_unique<LcoreLoop<Rr>>(std::move(parts),
                                                                    std::move(handler), memory);
                           },
                       .figures =
                           [tables](WorkerId worker) {
                             std::vector<NamedFigure> figures;
                             for (const auto& [name, value] : tables->shared.figures(worker)) {
                               figures.push_back({name, value});
                             }
                             return figures;
                           },
                       .needs = needs_of(*settings),
                       .checksums = true};
}

}  // namespace

Expected<ChosenHandler> choose_handler(const Config& config,
                                       const std::vector<PortCapabilities>& ports,
                                       std::uint16_t lcores) {
  if (!config.rr.port.empty()) return choose_rr(config, ports, lcores);
  ChosenHandler chosen;
  chosen.loops =
      config.bridges.empty() ? loops_with(Sink{}) : loops_with(Forward{peers_of(config, ports)});
  return chosen;
}

HandlerNeeds handler_needs(const Config& config) {
  if (config.rr.port.empty()) return {};
  const auto port = std::ranges::find(config.ports, config.rr.port, &PortConfig::name);
  // The MTU decides the size of the echo buffers; one that is not known yet is taken as Ethernet's.
  const auto settings = rr_settings(config.rr, PortId{0}, {}, port->mtu.value_or(1500));
  return settings ? needs_of(*settings) : HandlerNeeds{};
}

}  // namespace mqsteer
