// Handshake, echo and close, one client at a time.

#include "rr_box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mqsteer::test {
namespace {

using testing::ElementsAre;

class RrConnection : public testing::TestWithParam<bool> {
 protected:
  RrBox box;
  ScriptedClient client{box, GetParam()};
  std::uint16_t mss = GetParam() ? 1440 : 1460;
};
INSTANTIATE_TEST_SUITE_P(Ip, RrConnection, testing::Bool(),
                         [](const auto& each) { return each.param ? "v6" : "v4"; });

TEST_P(RrConnection, SynIsAnsweredWithSynAckAndOurMss) {
  client.send(SYN);
  const Tcp answer = client.heard();
  EXPECT_EQ(answer.flags, unsigned{SYN | ACK});
  EXPECT_EQ(answer.ack, client.seq);
  EXPECT_EQ(answer.window, 4096);
  EXPECT_EQ(answer.client, client.base.client);
  EXPECT_THAT(answer.options, ElementsAre(2, 4, mss >> 8U, mss & 0xffU));
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), 0U);
}

TEST_P(RrConnection, HandshakeOpensOneConnectionAndItsAckIsNotAnswered) {
  client.connect();
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), 1U);
  EXPECT_EQ(box.connections(), 1U);
}

TEST_P(RrConnection, OneByteComesBackInTheSegmentThatAcknowledgesIt) {
  client.connect();
  client.send("x");
  const Tcp echo = client.heard();
  EXPECT_EQ(echo.text, text_of("x"));
  EXPECT_EQ(echo.ack, client.seq);
  EXPECT_EQ(echo.flags, unsigned{ACK | PSH});
  EXPECT_EQ(echo.window, 4095);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.outbox().originated, 0U) << "the received packet itself is the answer";
}

TEST_P(RrConnection, ManyTransactionsOneAfterTheOther) {
  client.connect();
  for (int i = 0; i < 1000; ++i) {
    const std::string text{static_cast<char>(i)};
    client.send(text);
    EXPECT_EQ(client.heard().text, text_of(text));
  }
  EXPECT_EQ(box.count(RrCount::kTransactions), 1000U);
  EXPECT_EQ(box.count(RrCount::kRetransmits), 0U);
}

TEST_P(RrConnection, WholeSegmentsComeBackWhole) {
  client.base.options = {};
  Tcp syn = client.segment(SYN);
  syn.options = {2, 4, static_cast<std::uint8_t>(mss >> 8U), static_cast<std::uint8_t>(mss)};
  ++client.seq;
  box.receive(syn);
  client.heard();
  client.send(ACK);
  for (int i = 0; i < 20; ++i) {
    Bytes text(mss);
    for (std::size_t at = 0; at < text.size(); ++at)
      text[at] = static_cast<std::uint8_t>(at * 7 + static_cast<unsigned>(i));
    client.send(ACK, text);
    EXPECT_EQ(client.heard().text, text);
  }
  EXPECT_TRUE(box.silent());
}

TEST_P(RrConnection, EverySizeComesBack) {
  client.connect();
  for (std::size_t size = 1; size <= 536; ++size) {
    Bytes text(size, static_cast<std::uint8_t>(size));
    client.send(ACK | PSH, text);
    EXPECT_EQ(client.heard().text, text) << size;
  }
}

TEST_P(RrConnection, EchoLongerThanTheClientsMssComesInPieces) {
  Tcp syn = client.segment(SYN);
  syn.options = {2, 4, 0, 100};
  ++client.seq;
  box.receive(syn);
  client.heard();
  client.send(ACK);
  const Bytes text(250, 9);
  client.send(ACK, text);
  EXPECT_EQ(client.heard().text.size(), 100U);
  EXPECT_EQ(client.heard().text.size(), 100U);
  EXPECT_EQ(client.heard().text.size(), 50U);
}

TEST_P(RrConnection, RequestsSentBeforeTheEchoIsAcknowledgedAreEchoedInOrder) {
  client.connect();
  for (char letter = 'a'; letter <= 'z'; ++letter) client.send(std::string(1, letter));
  std::string echoed;
  for (int i = 0; i < 26; ++i) {
    const Tcp echo = client.heard();
    echoed.append(echo.text.begin(), echo.text.end());
  }
  EXPECT_EQ(echoed, "abcdefghijklmnopqrstuvwxyz");
}

TEST_P(RrConnection, WindowClosesAsEchoWaitsAndItsRightEdgeNeverGoesBack) {
  client.connect();
  std::uint32_t edge = 0;
  for (int i = 0; i < 8; ++i) {
    client.send(ACK, Bytes(512, 1));
    const auto echo = box.reply();  // not acknowledged
    ASSERT_TRUE(echo);
    if (i > 0) {
      EXPECT_EQ(echo->ack + echo->window, edge);
    }
    edge = echo->ack + echo->window;
  }
  client.send("y");  // one byte too many
  const auto answer = box.reply();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->text.empty());
  EXPECT_EQ(answer->window, 0);
  EXPECT_EQ(box.count(RrCount::kOutsideWindow), 1U);
}

TEST_P(RrConnection, WindowThatOpensAgainIsToldToTheClientOnce) {
  client.connect();
  for (int i = 0; i < 8; ++i) client.send(ACK, Bytes(512, 1));
  for (int i = 0; i < 8; ++i) client.ack = box.reply()->seq + 512;
  client.send(ACK);
  const auto update = box.reply();
  ASSERT_TRUE(update) << "or the client would have to probe";
  EXPECT_EQ(update->window, 4096);
  EXPECT_TRUE(update->text.empty());
  client.send(ACK);
  EXPECT_TRUE(box.silent());
}

TEST_P(RrConnection, NextFullSegmentFitsBeforeTheEchoIsAcknowledged) {
  client.connect();
  client.send(ACK, Bytes(mss, 1));
  std::uint32_t edge = 0;
  while (const auto echo = box.reply()) edge = echo->ack + echo->window;
  EXPECT_GE(edge - client.seq, mss);
}

TEST_P(RrConnection, CloseByTheClientEndsBothDirections) {
  client.connect();
  client.send("x");
  client.heard();
  client.close();
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsClosed), 1U);
  EXPECT_EQ(box.shared.owners().count(), 0U);
}

TEST_P(RrConnection, FinWithTheLastDataIsAnsweredWithEchoAndFin) {
  client.connect();
  client.send(FIN | PSH | ACK, text_of("bye"));
  const Tcp answer = client.heard();
  EXPECT_EQ(answer.text, text_of("bye"));
  EXPECT_EQ(answer.flags, unsigned{FIN | PSH | ACK});
  client.send(ACK);
  EXPECT_EQ(box.connections(), 0U);
}

TEST_P(RrConnection, FinBeforeTheEchoIsAcknowledgedWaitsForNothing) {
  client.connect();
  client.send("x");
  const auto echo = box.reply();
  client.send(FIN | ACK);  // acknowledges nothing of the echo
  const auto fin = box.reply();
  ASSERT_TRUE(echo && fin);
  EXPECT_EQ(fin->flags, unsigned{FIN | ACK});
  EXPECT_EQ(fin->seq, echo->seq + 1);
  client.ack = fin->seq + 1;
  client.send(ACK);
  EXPECT_EQ(box.connections(), 0U);
}

TEST_P(RrConnection, FinAheadOfDataIsNotTaken) {
  client.connect();
  Tcp fin = client.segment(FIN | ACK);
  ++fin.seq;  // one byte is missing
  box.receive(fin);
  EXPECT_EQ(box.reply()->ack, client.seq);
  client.send("x");
  EXPECT_EQ(client.heard().flags, unsigned{ACK | PSH});
  client.close();
  EXPECT_EQ(box.connections(), 0U);
}

TEST_P(RrConnection, RepeatedFinIsAcknowledgedAgain) {
  client.connect();
  const Tcp fin = client.segment(FIN | ACK);
  box.receive(fin);
  EXPECT_EQ(box.reply()->flags, unsigned{FIN | ACK});
  box.receive(fin);
  const auto again = box.reply();
  EXPECT_EQ(again->flags, unsigned{ACK});
  EXPECT_EQ(again->ack, fin.seq + 1);
  EXPECT_EQ(box.connections(), 1U);
}

TEST_P(RrConnection, TheSameClientPortCanConnectAgainAndAgain) {
  std::uint32_t last = 0;
  for (int i = 0; i < 200; ++i) {
    client.seq += 100000;
    box.now += 1'000'000;
    client.connect();
    client.send("x");
    const Tcp echo = client.heard();
    EXPECT_EQ(echo.text, text_of("x"));
    if (i > 0) {
      EXPECT_GT(static_cast<std::int32_t>(echo.seq - last), 0) << "sequence numbers go on";
    }
    last = echo.seq;
    client.close();
  }
  EXPECT_EQ(box.connections(), 0U);
}

TEST_P(RrConnection, FlowIsRecordedForEveryRequestAndForNothingElse) {
  client.connect();
  EXPECT_TRUE(box.outbox().recorded.empty());
  client.send("x");
  client.heard();
  client.send("y");
  client.heard();
  const auto hash = box.outbox().recorded.at(0);
  EXPECT_THAT(box.outbox().recorded, ElementsAre(hash, hash));
  client.close();
  EXPECT_EQ(box.outbox().recorded.size(), 2U);
}

TEST_P(RrConnection, AnswerThatDoesNotFitIntoThePacketTakesAFreshOne) {
  box.spare = 0;
  client.send(SYN);  // 4 bytes less than SYN-ACK
  EXPECT_EQ(client.heard().flags, unsigned{SYN | ACK});
  EXPECT_EQ(box.outbox().originated, 1U);
  EXPECT_EQ(box.outbox().consumed, 1U);
}

TEST_P(RrConnection, PacketThatIsSharedWithOthersIsNotWrittenTo) {
  client.connect();
  const auto frame = frame_of(client.segment(ACK | PSH, text_of("x")));
  const auto packet = box.packet_of(frame);
  rte_mbuf_refcnt_set(packet.mbuf, 2);
  box.run(packet);
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.outbox().originated, 1U);
}

TEST_P(RrConnection, NicComputesChecksumsWhereItCan) {
  client.connect();
  box.outbox().in_nic = true;
  client.send("x");
  const auto flags = box.outbox().sent_flags.at(0);
  const Bytes frame = *box.frame();
  EXPECT_TRUE((flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_TCP_CKSUM);
  EXPECT_EQ((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0, !GetParam());
  const std::size_t l4 = GetParam() ? 54 : 34;
  const auto addresses = std::span{frame}.subspan(GetParam() ? 22 : 26, GetParam() ? 32 : 8);
  const auto pseudo = static_cast<std::uint16_t>(~checksum_end(checksum_add(6 + 21, addresses)));
  EXPECT_EQ(be16(frame, l4 + 16), pseudo) << "the field holds the sum of the pseudo header";
}

TEST(RrWork, ExtraWorkIsDoneForRequestsAndTimed) {
  auto settings = box_settings();
  settings.work_ns = 2000;
  RrBox box{settings};
  ScriptedClient client{box};
  client.connect();
  const auto before = box.engine().work().result();
  for (int i = 0; i < 200; ++i) {
    client.send("x");
    client.heard();
  }
  EXPECT_NE(box.engine().work().result(), before);
  EXPECT_EQ(box.count(RrCount::kWorkSamples), 3U);
  EXPECT_GE(box.shared.work_cycles(), 1000U) << "2 us at a GHz or more";
}

TEST(RrWork, TwiceTheTimeIsTwiceTheSteps) {
  const rr::ExtraWork one{1000, 1'000'000'000};
  const rr::ExtraWork two{2000, 1'000'000'000};
  EXPECT_GT(one.steps(), 0U);
  EXPECT_NEAR(static_cast<double>(two.steps()) / one.steps(), 2.0, 0.5);
  EXPECT_FALSE((rr::ExtraWork{0, 1'000'000'000}.is_wanted()));
}

}  // namespace
}  // namespace mqsteer::test
