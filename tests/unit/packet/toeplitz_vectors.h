#pragma once

#include <array>
#include <cstdint>

namespace mqsteer::test {

/// A tuple and its hashes with Microsoft's key, in both directions, without (l3) and with ports
/// (l4), and with the repeated 6d5a key, which is the same either way.
struct Vector {
  const char* source;
  const char* destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t l3, l4, l3_reversed, l4_reversed, symmetric_l3, symmetric_l4;
};

/// Source: Microsoft, "Verifying the RSS Hash Calculation"; the reverse direction and the symmetric
/// key were computed independently of this project's code.
inline constexpr std::array kVectors = {
    Vector{"66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178, 0xba45587e,
           0xfde799b2, 0x0a590a59, 0x9fcc9fcc},
    Vector{"199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea, 0x6fbcad07,
           0xe53c74e8, 0x7ba97ba9, 0x60d760d7},
    Vector{"24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a, 0xf6e02bf3,
           0xa802b849, 0xa55aa55a, 0x3a3e3a3e},
    Vector{"38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f, 0xa7728522,
           0xe1dfcdff, 0xf8a7f8a7, 0xd26ed26e},
    Vector{"153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2, 0xc197330c,
           0x15d05e13, 0x57545754, 0xf23ef23e},
    Vector{"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d,
           0xbf3b2ab5, 0x1ac0fcce, 0x867e867e, 0x13eb13eb},
    Vector{"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf,
           0x39eafaa7, 0xe0f7edc9, 0x2def2def, 0x36913691},
    Vector{"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
           0x4b61e985, 0x02d1feef, 0x2d4381a5, 0xd1bec7ad, 0xc85ec85e, 0x08090809},
};

/// Further tuples: l3, l4, symmetric_l3, symmetric_l4 (reversed values: not known).
struct ShortVector {
  const char* source;
  const char* destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t l3, l4, symmetric_l3, symmetric_l4;
};
inline constexpr std::array kMoreVectors = {
    ShortVector{"10.0.0.1", "10.0.0.2", 12345, 80, 0x02b7c9b1, 0xd9f84534, 0xadfbadfb, 0x3f563f56},
    ShortVector{"192.0.2.1", "198.51.100.2", 4500, 4500, 0x1f85984f, 0xd5e452f1, 0xd502d502,
                0xd502d502},
    ShortVector{"2001:db8::1", "2001:db8::2", 1024, 443, 0x829c6d35, 0xd4b360d7, 0xadfbadfb,
                0x401c401c},
};

struct Tuple {
  const char* source;
  std::uint16_t source_port;
  const char* destination;
  std::uint16_t destination_port;
};

/// Tuples whose hash with Microsoft's key is exactly 0.
inline constexpr std::array kHashesToZero = {
    Tuple{"10.1.232.95", 57204, "10.2.189.77", 2125},
    Tuple{"10.1.115.167", 3630, "10.2.254.83", 22142},
    Tuple{"10.1.118.33", 4552, "10.2.106.197", 55391},
    Tuple{"10.1.202.165", 44547, "10.2.208.218", 10036},
};

/// Pairs of tuples with one and the same 32-bit hash.
struct Collision {
  Tuple a, b;
  std::uint32_t hash;
};
inline constexpr std::array kCollisions = {
    Collision{{"10.1.0.205", 64652, "10.2.0.1", 443},
              {"10.1.114.191", 59354, "10.2.129.9", 10504},
              0x4da8b75e},
    Collision{{"10.1.0.144", 2850, "10.2.0.1", 443},
              {"10.1.60.112", 21487, "10.2.66.89", 9560},
              0x7322cf8a},
    Collision{{"10.1.0.82", 7066, "10.2.0.1", 443},
              {"10.1.254.133", 18599, "10.2.236.0", 5145},
              0x2fe93ea9},
    Collision{{"10.1.0.241", 8197, "10.2.0.1", 443},
              {"10.1.58.113", 6311, "10.2.20.139", 10096},
              0x6707285e},
};

}  // namespace mqsteer::test
