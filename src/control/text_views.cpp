#include "control/text_views.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace mqsteer {
namespace {

/// A view shows the drops by reason as rows up to this many workers, which then are the columns.
constexpr std::size_t kMostWorkerColumns = 8;

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string percent(double share) {
  return decimal(share * 100, 1) + '%';
}

/// A number or a text as it is in the answer; null: "-".
std::string plain(const Json& value) {
  if (value.is_string()) return tame(value.get<std::string>());
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.dump();
}

/// A member that must be a list.
const Json& list(const Json& object, const char* name) {
  const Json& member = object.at(name);
  (void)member.get_ref<const Json::array_t&>();  // throws where it is none
  return member;
}

Cell cell(const Json& object, const char* name) {
  return {plain(object.at(name))};
}

/// A number that is bad unless 0.
Cell bad(const Json& object, const char* name) {
  Cell made = cell(object, name);
  if (made.text != "0") made.colour = Colour::kRed;
  return made;
}

Cell link_cell(const Json& port) {
  const bool up = port.at("link") == "up";
  return {up ? "up" : "down", up ? Colour::kGreen : Colour::kRed};
}

Cell state_cell(const Json& worker) {
  const std::string state = plain(worker.at("state"));
  return {state, state == "listed" ? Colour::kGreen : Colour::kYellow};
}

std::uint64_t sum_of(const Json& drops) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : drops.items()) sum += count.get<std::uint64_t>();
  return sum;
}

Cell count_cell(std::uint64_t drops) {
  return {std::to_string(drops), drops == 0 ? Colour::kPlain : Colour::kRed};
}

std::string port_counters(const Json& ports, const Paint& paint) {
  TextTable table{{"<PORT", "<LINK", "RX PACKETS", "RX BYTES", "MISSED", "NOMBUF", "ERRORS",
                   "TX PACKETS", "TX BYTES", "ERRORS"}};
  for (const Json& port : ports) {
    table.add({cell(port, "name"), link_cell(port), cell(port, "rx_packets"),
               cell(port, "rx_bytes"), bad(port, "rx_missed"), bad(port, "rx_nombuf"),
               bad(port, "rx_errors"), cell(port, "tx_packets"), cell(port, "tx_bytes"),
               bad(port, "tx_errors")});
  }
  return table.text(paint);
}

std::string worker_counters(const Json& workers, bool busy, const Paint& paint) {
  std::vector<std::string> titles = {"WORKER", "LCORE", "<STATE", "BUCKETS",  "PACKETS", "BACKLOG",
                                     "MOVES",  "HELD",  "TX",     "CONSUMED", "DROPS"};
  if (busy) titles.emplace_back("BUSY");
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker"),
                             cell(worker, "lcore"),
                             state_cell(worker),
                             cell(worker, "buckets"),
                             cell(worker, "packets"),
                             cell(worker, "backlog"),
                             cell(worker, "moves"),
                             cell(worker, "moves_held"),
                             cell(worker, "tx"),
                             cell(worker, "consumed"),
                             count_cell(sum_of(worker.at("drops")))};
    if (busy) row.push_back({percent(worker.at("busy_share").get<double>())});
    table.add(std::move(row));
  }
  return table.text(paint);
}

/// Reasons as rows: "TOTAL" where there are totals, and a column for each worker.
std::string drops_by_reason(const Json& workers, const Json* totals, const Paint& paint) {
  std::vector<std::string> titles = {"<DROPS BY REASON"};
  if (totals != nullptr) titles.emplace_back("TOTAL");
  for (const Json& worker : workers) titles.push_back("WORKER " + plain(worker.at("worker")));
  TextTable table{titles};
  const Json& reasons = totals != nullptr ? *totals : workers.at(0).at("drops");
  for (const auto& [reason, total] : reasons.items()) {
    std::vector<Cell> row = {{reason}};
    if (totals != nullptr) row.push_back(bad(*totals, reason.c_str()));
    for (const Json& worker : workers) row.push_back(bad(worker.at("drops"), reason.c_str()));
    table.add(std::move(row));
  }
  return table.text(paint);
}

std::string drops_by_worker(const Json& workers, const Paint& paint) {
  std::vector<std::string> titles = {"WORKER"};
  for (const auto& [reason, count] : workers.at(0).at("drops").items()) titles.push_back(reason);
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker")};
    for (const auto& [reason, count] : worker.at("drops").items()) {
      row.push_back(bad(worker.at("drops"), reason.c_str()));
    }
    table.add(std::move(row));
  }
  return table.text(paint);
}

std::string drops_text(const Json& workers, const Json* totals, const Paint& paint) {
  if (workers.size() <= kMostWorkerColumns && (totals != nullptr || !workers.empty())) {
    return drops_by_reason(workers, totals, paint);
  }
  std::string text = workers.empty() ? "" : drops_by_worker(workers, paint);
  if (totals != nullptr) text += '\n' + drops_by_reason(Json::array(), totals, paint);
  return text;
}

std::uint64_t sum_over(const Json& workers, const char* name) {
  std::uint64_t sum = 0;
  for (const Json& worker : workers) sum += worker.at(name).get<std::uint64_t>();
  return sum;
}

/// A member's name as a title: "HANDED OVER".
std::string title_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::toupper(c));
  });
  return name;
}

/// Where the flows of the workers went; empty where no flow ever left the straight way.
std::string hops_text(const Json& workers, const Paint& paint) {
  std::vector<const char*> shown;
  for (const char* name : {"wrong_worker", "handed_over", "taken_over", "originated"}) {
    if (sum_over(workers, name) != 0) shown.push_back(name);
  }
  if (shown.empty()) return "";
  std::vector<std::string> titles = {"WORKER"};
  for (const char* name : shown) titles.push_back(title_of(name));
  TextTable table{titles};
  for (const Json& worker : workers) {
    std::vector<Cell> row = {cell(worker, "worker")};
    for (const char* name : shown) row.push_back(cell(worker, name));
    table.add(std::move(row));
  }
  return '\n' + table.text(paint);
}

/// What the order check found; empty where it never looked.
std::string order_text(const Json& workers, const Paint& paint) {
  if (sum_over(workers, "order_checked") + sum_over(workers, "order_unjudged") == 0) return "";
  TextTable table{{"WORKER", "ORDER CHECKED", "REORDERED", "UNJUDGED"}};
  for (const Json& worker : workers) {
    table.add({cell(worker, "worker"), cell(worker, "order_checked"), bad(worker, "reordered"),
               cell(worker, "order_unjudged")});
  }
  return '\n' + table.text(paint);
}

/// What the handlers count, a row each, those that are 0 everywhere left out: the sum, and the
/// workers where they fit.
std::string handler_text(const Json& workers, const Paint& paint) {
  if (workers.empty() || workers.at(0).at("handler").empty()) return "";
  const bool each = workers.size() <= kMostWorkerColumns;
  std::vector<std::string> titles = {"<HANDLER", "TOTAL"};
  for (const Json& worker : workers) {
    if (each) titles.push_back("WORKER " + plain(worker.at("worker")));
  }
  TextTable table{titles};
  bool any = false;
  for (const auto& [name, first] : workers.at(0).at("handler").items()) {
    std::uint64_t sum = 0;
    std::vector<Cell> row = {{tame(name)}, {}};
    for (const Json& worker : workers) {
      const Json& value = worker.at("handler").at(name);
      sum += value.get<std::uint64_t>();
      if (each) row.push_back({plain(value)});
    }
    row[1] = {std::to_string(sum)};
    any = any || sum != 0;
    if (sum != 0) table.add(std::move(row));
  }
  return any ? '\n' + table.text(paint) : "";
}

std::string more_of_workers(const Json& workers, const Paint& paint) {
  return hops_text(workers, paint) + order_text(workers, paint) + handler_text(workers, paint);
}

std::string port_show(const Json& answer, const Paint& paint) {
  const Json& ports = list(answer, "ports");
  std::string text = port_counters(ports, paint) + '\n';
  TextTable table{{"<PORT", "<LINK", "MBIT/S", "MTU", "RX QUEUES", "TX QUEUES", "RX DESCR",
                   "TX DESCR", "<DEVICE"}};
  for (const Json& port : ports) {
    const bool speed = port.at("link_mbps") != 0;
    table.add({cell(port, "name"), link_cell(port), speed ? cell(port, "link_mbps") : Cell{"-"},
               cell(port, "mtu"), cell(port, "rx_queues"), cell(port, "tx_queues"),
               cell(port, "rx_descriptors"), cell(port, "tx_descriptors"),
               cell(port, "description")});
  }
  text += table.text(paint);
  for (const Json& port : ports) {
    for (const Json& note : list(port, "notes")) text += "note: " + plain(note) + '\n';
  }
  return text;
}

std::string queue_show(const Json& answer, const Paint& paint) {
  TextTable table{{"<PORT", "QUEUE", "LCORE", "WORKER", "RX PACKETS", "RX BYTES"}};
  for (const Json& queue : list(answer, "queues")) {
    table.add({cell(queue, "port"), cell(queue, "queue"), cell(queue, "lcore"),
               cell(queue, "worker"), cell(queue, "rx_packets"), cell(queue, "rx_bytes")});
  }
  return table.text(paint);
}

std::string worker_show(const Json& answer, const Paint& paint) {
  const Json& workers = list(answer, "workers");
  return worker_counters(workers, true, paint) + more_of_workers(workers, paint) + '\n' +
         drops_text(workers, nullptr, paint);
}

std::string stats_show(const Json& answer, const Paint& paint) {
  TextTable queues{{"<PORT", "QUEUE", "LCORE", "RX PACKETS", "RX BYTES"}};
  for (const Json& port : list(answer, "ports")) {
    for (const Json& queue : list(port, "queues")) {
      queues.add({cell(port, "name"), cell(queue, "queue"), cell(queue, "lcore"),
                  cell(queue, "rx_packets"), cell(queue, "rx_bytes")});
    }
  }
  const Json& workers = list(answer, "workers");
  const Json& totals = answer.at("totals");
  std::string text = port_counters(list(answer, "ports"), paint) + '\n' + queues.text(paint) +
                     '\n' + worker_counters(workers, false, paint) +
                     more_of_workers(workers, paint) + '\n' +
                     drops_text(workers, &totals.at("drops"), paint) + '\n';
  const Json& fragments = answer.at("fragments");
  if (fragments.at("tracked") != 0 || fragments.at("missed") != 0) {
    text += "fragments: " + plain(fragments.at("tracked")) + " went with their flow, " +
            plain(fragments.at("missed")) + " by their addresses; " + plain(fragments.at("held")) +
            " had to wait\n";
  }
  text += "accounts: rx " + plain(totals.at("rx")) + " + originated " +
          plain(totals.at("originated")) + " + copies " + plain(totals.at("copies")) + " = tx " +
          plain(totals.at("tx")) + " + consumed " + plain(totals.at("consumed")) + " + drops " +
          std::to_string(sum_of(totals.at("drops"))) + " + in flight " +
          plain(totals.at("in_flight"));
  const std::string off = plain(totals.at("unaccounted"));
  if (off != "0") text += " + on the way " + off;
  return text + '\n';
}

std::string words_between(const Json& list, const char* comma) {
  std::string text;
  for (const Json& word : list) text += (text.empty() ? "" : comma) + plain(word);
  return text.empty() ? "-" : text;
}

std::string plan_lcores(const Json& lcores, const Paint& paint) {
  TextTable table{{"LCORE", "WORKER", "<ROLES", "<RX QUEUES", "MBUFS", "BYTES OF EACH"}};
  for (const Json& lcore : lcores) {
    Json queues = Json::array();
    for (const Json& queue : list(lcore, "rx")) {
      queues.push_back(plain(queue.at("port")) + ':' + plain(queue.at("queue")));
    }
    const bool pool = lcore.at("pool_mbufs") != 0;
    table.add({cell(lcore, "lcore"),
               cell(lcore, "worker"),
               {words_between(list(lcore, "roles"), ", ")},
               {words_between(queues, ", ")},
               pool ? cell(lcore, "pool_mbufs") : Cell{"-"},
               pool ? cell(lcore, "data_room_bytes") : Cell{"-"}});
  }
  return table.text(paint);
}

std::string plan_show(const Json& answer, const Paint& paint) {
  TextTable ports{{"<PORT", "RX QUEUES", "TX QUEUES", "RX DESCR", "TX DESCR", "<TX"}};
  for (const Json& port : list(answer, "ports")) {
    const bool shared = port.at("tx_shared").get<bool>();
    ports.add({cell(port, "name"),
               cell(port, "rx_queues"),
               cell(port, "tx_queues"),
               cell(port, "rx_descriptors"),
               cell(port, "tx_descriptors"),
               {shared ? "shared, under a lock" : "a queue each"}});
  }
  const auto bytes = [&](const char* name) {
    return bytes_text(answer.at(name).get<std::uint64_t>());
  };
  const double queueing_us = answer.at("worst_queueing_us").get<double>();
  std::string text = plan_lcores(list(answer, "lcores"), paint) + '\n' + ports.text(paint) + '\n';
  text += "backlog: " + plain(answer.at("backlog_slots")) + " packets between an RX lcore and a " +
          "worker, " + plain(answer.at("backlog_budget")) + " in flight per RX lcore\n";
  text += "worst queueing time: " + decimal(queueing_us / 1000, 3) + " ms, at " +
          plain(answer.at("ns_per_packet")) + " ns a packet" +
          (answer.at("ns_assumed").get<bool>() ? " (assumed: no link speed is known)\n"
                                               : " (the slowest link's 64-byte frames)\n");
  text += "memory: " + bytes("total_bytes") + " (pools " + bytes("pool_bytes") + ", backlogs " +
          bytes("backlog_bytes") + ", steering " + bytes("steering_bytes") + ", handlers " +
          bytes("handler_bytes") + ")\n";
  text += "steering keeps room for rfs: " + bytes("rfs_flows_bytes") +
          " for where flows are consumed, twice for changes of the hash;\n  and " +
          plain(answer.at("buckets_per_rx_lcore")) +
          " buckets at each RX lcore, for where their packets are now\n";
  if (answer.at("hand_over_slots") != 0) {
    text += "hand-over: rings of " + plain(answer.at("hand_over_slots")) +
            " packets from each worker to each other\n";
  }
  for (const Json& note : list(answer, "notes")) text += "note: " + plain(note) + '\n';
  return text;
}

/// The largest of the listed workers' figures over the mean and the least.
std::string spread_text(const Json& workers, const char* figure) {
  std::vector<double> values;
  for (const Json& worker : workers) {
    if (worker.at("state") == "listed") values.push_back(worker.at(figure).get<double>());
  }
  if (values.empty()) return "-";
  double sum = 0;
  for (const double value : values) sum += value;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (sum == 0) return "-";
  const double mean = sum / static_cast<double>(values.size());
  return "max/mean " + decimal(*most / mean, 2) + ", max/min " +
         (*least == 0 ? "-" : decimal(*most / *least, 2));
}

/// The state of rfs's table of flows, in half a sentence.
std::string rfs_text(const Json& rfs) {
  return plain(rfs.at("used")) + " of " + plain(rfs.at("entries")) + " places taken, " +
         plain(rfs.at("displaced")) + " flows lost theirs to others, " + plain(rfs.at("pins")) +
         " pinned";
}

/// The settings, and what they have of their own to tell; a line each kind.
std::string steering_settings(const Json& answer) {
  std::string text = "mode " + plain(answer.at("mode")) + ", hash " + plain(answer.at("hash")) +
                     " (" + plain(answer.at("hash_function")) + "), symmetric " +
                     plain(answer.at("symmetric"));
  if (answer.at("buckets") != 0) text += ", " + plain(answer.at("buckets")) + " buckets";
  text += "\ntunnels " + plain(answer.at("tunnels")) + ", fragments " +
          plain(answer.at("fragments")) + ", flow limit " + plain(answer.at("flow_limit")) +
          ", TX guard " + plain(answer.at("tx_guard")) + ", order check " +
          plain(answer.at("order_check")) + '\n';
  if (answer.at("mode") == "soft-rss") {
    text += "hash bits " + plain(answer.at("rss_bits")) + ", balance " +
            plain(answer.at("balance")) + " (" + plain(answer.at("balanced")) +
            " buckets moved so far)\n";
  }
  const Json& rfs = answer.at("rfs");
  if (!rfs.is_null()) {
    text += "flows: room for " + plain(answer.at("rfs_flows")) + "; " + rfs_text(rfs) + '\n';
  }
  return text;
}

std::string steering_show(const Json& answer, const Paint& paint) {
  const Json& workers = list(answer, "workers");
  const auto buckets = answer.at("buckets").get<std::uint64_t>();
  TextTable table{{"WORKER", "LCORE", "<STATE", "WEIGHT", "BUCKETS", "SHARE", "PACKETS", "SHARE"}};
  for (const Json& worker : workers) {
    const double of = buckets == 0 ? 0 : worker.at("buckets").get<double>() / double(buckets);
    table.add({cell(worker, "worker"),
               cell(worker, "lcore"),
               state_cell(worker),
               cell(worker, "weight"),
               cell(worker, "buckets"),
               {percent(of)},
               cell(worker, "packets"),
               {percent(worker.at("share").get<double>())}});
  }
  return steering_settings(answer) + '\n' + table.text(paint) +
         "\nbuckets: " + spread_text(workers, "buckets") +
         "\npackets: " + spread_text(workers, "packets") + '\n';
}

std::string steering_set(const Json& answer, const Paint& paint) {
  return plain(answer.at("changed_buckets")) + " of " + plain(answer.at("buckets")) +
         " buckets changed\n\n" + steering_show(answer, paint);
}

std::string config_diff(const Json& answer, const Paint& paint) {
  const std::string path = plain(answer.at("path"));
  if (list(answer, "changes").empty()) return "no difference: it runs as " + path + " says\n";
  TextTable table{{"<KEY", "<RUNNING", "<FILE", "<TAKEN OVER BY"}};
  for (const Json& change : list(answer, "changes")) {
    const bool live = change.at("live").get<bool>();
    table.add({cell(change, "key"),
               cell(change, "running"),
               cell(change, "file"),
               {live ? "a reload" : "a restart", live ? Colour::kGreen : Colour::kYellow}});
  }
  return path + ":\n" + table.text(paint);
}

std::string why_text(const std::string& why) {
  if (why == "bucket") return "its bucket's worker";
  if (why == "consumer") return "where it was last consumed";
  if (why == "pin") return "it is pinned there";
  if (why == "consumer_gone") {
    return "its bucket's worker, since the one it was consumed at or pinned to gets no flows";
  }
  return why;
}

/// Where an RX lcore has the flow's bucket now.
std::string at_text(const Json& at) {
  if (at.at("held").get<bool>()) return "its packets are held here until it has moved";
  if (at.at("worker").is_null()) return "no packet of its bucket yet";
  return at.at("drained").get<bool>() ? "nothing of it is outstanding there"
                                      : "packets of it are outstanding there";
}

std::string flow_explain(const Json& answer, const Paint& paint) {
  std::string text = "flow:    " + plain(answer.at("flow")) +
                     "\nkey:     " + plain(answer.at("kind")) + ", " + plain(answer.at("key")) +
                     "\nhash:    " + plain(answer.at("hash")) + " (" +
                     plain(answer.at("hash_function")) + ")\nmode:    " + plain(answer.at("mode"));
  if (answer.at("bucket").is_null()) {
    return text + "\nworker:  that of the lcore which receives it, whatever its hash\n";
  }
  text +=
      "\nbucket:  " + plain(answer.at("bucket")) + " of " + plain(answer.at("buckets")) +
      "\nwanted:  at worker " + plain(answer.at("desired")) + ", " +
      why_text(plain(answer.at("why"))) + "\nmoves:   " +
      (answer.at("forced").get<bool>() ? "at once; what comes meanwhile is held, in order"
                                       : "when nothing of it is outstanding at the old worker") +
      "\n\n";
  TextTable table{{"RX LCORE", "WORKER NOW", "<STATE"}};
  for (const Json& at : list(answer, "current")) {
    table.add({cell(at, "lcore"), cell(at, "worker"), {at_text(at)}});
  }
  return text + table.text(paint);
}

std::string flow_show(const Json& answer, const Paint& paint) {
  const Json& rfs = answer.at("rfs");
  std::string text = rfs.is_null()
                         ? "mode rfs is off: no flow is remembered, and pins wait for it\n"
                         : "flows: " + rfs_text(rfs) + '\n';
  if (list(answer, "pins").empty()) return text + "no flow is pinned\n";
  TextTable table{{"<PINNED FLOW", "WORKER"}};
  for (const Json& pin : answer.at("pins")) table.add({cell(pin, "flow"), cell(pin, "worker")});
  return text + '\n' + table.text(paint);
}

std::string version_text(const Json& answer, const Paint& /*paint*/) {
  const Json& config = answer.at("config");
  return "mqsteerd " + plain(answer.at("version")) + ", instance " + plain(answer.at("instance")) +
         ", process " + plain(answer.at("pid")) + ", up " +
         span_text(answer.at("uptime_s").get<std::uint64_t>()) + ", configuration " +
         (config.is_null() ? "of its command line" : plain(config)) + '\n';
}

std::string ping_text(const Json& answer, const Paint& /*paint*/) {
  return "instance " + plain(answer.at("pong")) + " answers in " +
         decimal(answer.at("ms").get<double>(), 3) + " ms\n";
}

std::string made_text(CommandId command, const Json& answer, const Paint& paint) {
  switch (command) {
    case CommandId::kPortShow:
      return port_show(answer, paint);
    case CommandId::kQueueShow:
      return queue_show(answer, paint);
    case CommandId::kWorkerShow:
      return worker_show(answer, paint);
    case CommandId::kWorkerAbandon:
      return "worker " + plain(answer.at("abandoned")) +
             " is abandoned: its flows go to the other listed workers\n";
    case CommandId::kWorkerRestore:
      return "worker " + plain(answer.at("restored")) + " is taken in again\n";
    case CommandId::kPlanShow:
      return plan_show(answer, paint);
    case CommandId::kConfigShow:
      return answer.at("yaml").get<std::string>();
    case CommandId::kConfigDiff:
      return config_diff(answer, paint);
    case CommandId::kStatsShow:
      return stats_show(answer, paint);
    case CommandId::kSteeringShow:
      return steering_show(answer, paint);
    case CommandId::kSteeringSet:
      return steering_set(answer, paint);
    case CommandId::kFlowExplain:
      return flow_explain(answer, paint);
    case CommandId::kFlowPin:
      return plain(answer.at("pinned")) + " is pinned to worker " + plain(answer.at("worker")) +
             '\n';
    case CommandId::kFlowUnpin:
      return plain(answer.at("unpinned")) + " follows its consumer again\n";
    case CommandId::kFlowShow:
      return flow_show(answer, paint);
    case CommandId::kVersion:
      return version_text(answer, paint);
    case CommandId::kPing:
      return ping_text(answer, paint);
    case CommandId::kTop:
    case CommandId::kCount:
      break;
  }
  return "";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return decimal(value, unit == 0 ? 0 : 1) + ' ' + kUnits[unit];
}

std::string span_text(std::uint64_t seconds) {
  std::string text;
  if (seconds >= 86400) text += std::to_string(seconds / 86400) + "d ";
  if (seconds >= 3600) text += std::to_string(seconds / 3600 % 24) + "h ";
  if (seconds >= 60) text += std::to_string(seconds / 60 % 60) + "m ";
  return text + std::to_string(seconds % 60) + 's';
}

Expected<std::string> text_of(CommandId command, const Json& answer, const Paint& paint) {
  try {
    return made_text(command, answer, paint);
  } catch (const Json::exception& fault) {
    return fail(std::string{"the daemon's answer is not understood ("} + fault.what() +
                "); mqsteerctl and mqsteerd should be of one version, and -j shows it as it is");
  }
}

}  // namespace mqsteer
