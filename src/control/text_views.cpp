#include "control/text_views.h"

#include "control/text_parts.h"

#include <array>
#include <nlohmann/json.hpp>

namespace mqsteer {
namespace {

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
  return worker_table(workers, true, paint) + more_of_workers(workers, paint) + '\n' +
         drops_table(workers, nullptr, paint);
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
                     '\n' + worker_table(workers, false, paint) + more_of_workers(workers, paint) +
                     '\n' + drops_table(workers, &totals.at("drops"), paint) + '\n';
  const Json& fragments = answer.at("fragments");
  if (fragments.at("tracked") != 0 || fragments.at("missed") != 0) {
    text += fragments_text(fragments);
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
      return steering_show_text(answer, paint);
    case CommandId::kSteeringSet:
      return steering_set_text(answer, paint);
    case CommandId::kFlowExplain:
      return flow_explain_text(answer, paint);
    case CommandId::kFlowPin:
      return plain(answer.at("pinned")) + " is pinned to worker " + plain(answer.at("worker")) +
             '\n';
    case CommandId::kFlowUnpin:
      return plain(answer.at("unpinned")) +
             (answer.at("mode") == "rfs" ? " follows its consumer again\n"
                                         : " is pinned no more; mode " + plain(answer.at("mode")) +
                                               " steers it by its bucket, as before\n");
    case CommandId::kFlowShow:
      return flow_show_text(answer, paint);
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
