#include "packet/hash.h"

#include "support/dissect_checked.h"
#include "support/packet_builder.h"
#include "toeplitz_vectors.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace mqsteer::test {
namespace {

bool is_v6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

/// Source, destination, ports in network order; in a heap block of exactly that size.
std::uint32_t reference(const ToeplitzKey& key, const Tuple& tuple, bool ports) {
  Bytes input;
  for (const char* address : {tuple.source, tuple.destination}) {
    std::array<std::uint8_t, 16> bytes{};
    EXPECT_EQ(inet_pton(is_v6(address) ? AF_INET6 : AF_INET, address, bytes.data()), 1);
    input.insert(input.end(), bytes.begin(), bytes.begin() + (is_v6(address) ? 16 : 4));
  }
  if (ports) append16(input, tuple.source_port), append16(input, tuple.destination_port);
  const auto exact = std::make_unique<std::uint8_t[]>(input.size());
  std::memcpy(exact.get(), input.data(), input.size());
  return toeplitz_reference(key, {exact.get(), input.size()});
}

Dissection dissected(const Tuple& tuple, bool ports, bool symmetric = false) {
  Packet packet;
  packet.ethernet();
  const int protocol = ports ? -1 : 99;
  if (is_v6(tuple.source)) packet.ipv6(tuple.source, tuple.destination, protocol);
  if (!is_v6(tuple.source)) {
    packet.ipv4(tuple.source, tuple.destination, {.protocol = protocol});
  }
  packet.tcp(tuple.source_port, tuple.destination_port);
  return dissect_checked(packet.bytes(), {.symmetric = symmetric});
}

/// The hash of one packet by every variant; they must agree.
std::uint32_t toeplitz(const ToeplitzKey& key, const Dissection& packet) {
  Toeplitz object{key};
  std::uint32_t hash = 0;
  object.set_variant(Toeplitz::Variant::kTables);
  object.run({&packet, 1}, &hash);
  EXPECT_EQ(hash, object.by_tables(packet.key));
  if (Toeplitz::has_carryless()) {
    std::uint32_t other = 0;
    object.set_variant(Toeplitz::Variant::kCarryless);
    object.run({&packet, 1}, &other);
    EXPECT_EQ(other, hash) << to_text(packet.key);
  }
  return hash;
}

/// reference() and the data path's variants at once.
std::uint32_t hash_of(const ToeplitzKey& key, const Tuple& tuple, bool ports) {
  const std::uint32_t hash = toeplitz(key, dissected(tuple, ports));
  EXPECT_EQ(hash, reference(key, tuple, ports));
  return hash;
}

TEST(Toeplitz, MicrosoftsVerificationSuiteInBothDirections) {
  for (const Vector& v : kVectors) {
    const Tuple there{v.source, v.source_port, v.destination, v.destination_port};
    const Tuple back{v.destination, v.destination_port, v.source, v.source_port};
    EXPECT_EQ(hash_of(kMicrosoftKey, there, false), v.l3) << v.source;
    EXPECT_EQ(hash_of(kMicrosoftKey, there, true), v.l4) << v.source;
    EXPECT_EQ(hash_of(kMicrosoftKey, back, false), v.l3_reversed) << v.source;
    EXPECT_EQ(hash_of(kMicrosoftKey, back, true), v.l4_reversed) << v.source;
  }
}

TEST(Toeplitz, TheRepeatedKeyIsTheSameInBothDirections) {
  for (const Vector& v : kVectors) {
    const Tuple there{v.source, v.source_port, v.destination, v.destination_port};
    const Tuple back{v.destination, v.destination_port, v.source, v.source_port};
    EXPECT_EQ(hash_of(kSymmetricKey, there, false), v.symmetric_l3);
    EXPECT_EQ(hash_of(kSymmetricKey, there, true), v.symmetric_l4);
    EXPECT_EQ(hash_of(kSymmetricKey, back, false), v.symmetric_l3);
    EXPECT_EQ(hash_of(kSymmetricKey, back, true), v.symmetric_l4);
  }
}

TEST(Toeplitz, MoreKnownAnswers) {
  for (const ShortVector& v : kMoreVectors) {
    const Tuple tuple{v.source, v.source_port, v.destination, v.destination_port};
    EXPECT_EQ(hash_of(kMicrosoftKey, tuple, false), v.l3);
    EXPECT_EQ(hash_of(kMicrosoftKey, tuple, true), v.l4);
    EXPECT_EQ(hash_of(kSymmetricKey, tuple, false), v.symmetric_l3);
    EXPECT_EQ(hash_of(kSymmetricKey, tuple, true), v.symmetric_l4);
  }
}

TEST(Toeplitz, ZeroIsAHashLikeAnyOther) {
  for (const Tuple& tuple : kHashesToZero) EXPECT_EQ(hash_of(kMicrosoftKey, tuple, true), 0U);
}

TEST(Toeplitz, KnownCollisionsOf32Bits) {
  for (const Collision& pair : kCollisions) {
    EXPECT_EQ(hash_of(kMicrosoftKey, pair.a, true), pair.hash);
    EXPECT_EQ(hash_of(kMicrosoftKey, pair.b, true), pair.hash);
  }
}

TEST(Toeplitz, OrderedEndpointsHaveOneHashInBothDirectionsWithAnyKey) {
  for (const Vector& v : kVectors) {
    const Tuple there{v.source, v.source_port, v.destination, v.destination_port};
    const Tuple back{v.destination, v.destination_port, v.source, v.source_port};
    const auto hash = toeplitz(kMicrosoftKey, dissected(there, true, true));
    EXPECT_EQ(hash, toeplitz(kMicrosoftKey, dissected(back, true, true)));
    EXPECT_THAT((std::array{v.l4, v.l4_reversed}), testing::Contains(hash));
  }
}

TEST(Toeplitz, SymmetricKeysRepeatEvery16Bits) {
  ToeplitzKey swapped = kSymmetricKey;
  for (std::size_t i = 0; i < swapped.size(); ++i) swapped[i] = kSymmetricKey[i ^ 1U];
  EXPECT_TRUE(is_symmetric(kSymmetricKey));
  EXPECT_TRUE(is_symmetric(swapped)) << "5a6d, repeated";
  EXPECT_FALSE(is_symmetric(kMicrosoftKey));
  swapped.back() = static_cast<std::uint8_t>(swapped.back() ^ 1U);
  EXPECT_FALSE(is_symmetric(swapped));
}

TEST(Toeplitz, EveryVariantEqualsTheReferenceForEveryFormOfKey) {
  constexpr unsigned kSeed = 20110815;
  RecordProperty("seed", kSeed);
  std::mt19937 random{kSeed};
  std::vector<Dissection> packets(500);
  ToeplitzKey key;
  for (auto& byte : key) byte = static_cast<std::uint8_t>(random());
  for (Dissection& packet : packets) {
    packet.key.family = static_cast<AddressFamily>(random() % 3);
    for (std::size_t i = 0; i < packet.key.word_count(); ++i) {
      packet.key.words[i] = static_cast<std::uint32_t>(random());
    }
  }
  for (const Dissection& packet : packets) {
    Bytes input;
    for (std::size_t i = 0; i < packet.key.word_count(); ++i) append32(input, packet.key.words[i]);
    EXPECT_EQ(toeplitz(key, packet), toeplitz_reference(key, input)) << "seed " << kSeed;
  }
}

TEST(Toeplitz, WordsBehindTheKeysEndDoNotCount) {
  Dissection clean = dissected(kHashesToZero[0], true);
  Dissection dirty = clean;
  for (std::size_t i = 3; i < FlowKey::kWords; ++i) dirty.key.words[i] = 0xa5a5a5a5;
  EXPECT_EQ(toeplitz(kMicrosoftKey, dirty), 0U);
  EXPECT_EQ(fast_hash(dirty.key), fast_hash(clean.key));
}

TEST(Toeplitz, TcpAndUdpOfOneTupleShareAHash) {
  const auto tcp = Packet{}.ethernet().ipv4("10.0.0.1", "10.0.0.2").tcp(1, 2);
  const auto udp = Packet{}.ethernet().ipv4("10.0.0.1", "10.0.0.2").udp(1, 2);
  EXPECT_EQ(toeplitz(kMicrosoftKey, dissect_checked(tcp.bytes())),
            toeplitz(kMicrosoftKey, dissect_checked(udp.bytes())));
  EXPECT_NE(fast_hash(dissect_checked(tcp.bytes()).key),
            fast_hash(dissect_checked(udp.bytes()).key));
}

// ---- The fast hash

TEST(FastHash, EveryBitOfTheKeyReachesEveryOutputBit) {
  constexpr int kRounds = 400;
  constexpr unsigned kSeed = 1;
  std::mt19937 random{kSeed};
  for (const auto family : {AddressFamily::kMac, AddressFamily::kIpv4, AddressFamily::kIpv6}) {
    FlowKey key{.family = family};
    for (std::size_t bit = 0; bit < key.word_count() * 32; ++bit) {
      std::array<int, 32> flips{};
      for (int round = 0; round < kRounds; ++round) {
        for (auto& word : key.words) word = static_cast<std::uint32_t>(random());
        const std::uint32_t before = fast_hash(key);
        key.words[bit / 32] ^= 1U << (bit % 32);
        const std::uint32_t change = before ^ fast_hash(key);
        for (std::size_t i = 0; i < 32; ++i) flips[i] += static_cast<int>(change >> i & 1U);
      }
      for (const int flipped : flips) {
        // 400 fair coins: five deviations are 50.
        EXPECT_NEAR(flipped, kRounds / 2, 60) << "bit " << bit << " seed " << kSeed;
      }
    }
  }
}

TEST(FastHash, SeparatesProtocols) {
  FlowKey key{.words = {0x0a000001, 0x0a000002}, .family = AddressFamily::kIpv4};
  std::vector<std::uint32_t> hashes;
  for (unsigned protocol = 0; protocol < 256; ++protocol) {
    key.protocol = static_cast<std::uint8_t>(protocol);
    hashes.push_back(fast_hash(key));
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace mqsteer::test
