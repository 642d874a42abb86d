// What the network or the client loses, repeats or swaps, and clients that say no.

#include "rr_box.h"

#include <gtest/gtest.h>

namespace mqsteer::test {
namespace {

class RrLoss : public testing::Test {
 protected:
  RrBox box;
  ScriptedClient client{box};
  static constexpr std::uint64_t kSlack = rr::Engine<FakeOutbox>::kTimerWaitMs + 3;
};

TEST_F(RrLoss, LostEchoIsSentAgainAfterItsTimeout) {
  client.connect();
  client.send("hello");
  const auto lost = box.reply();
  box.pass(199);
  EXPECT_TRUE(box.silent());
  box.pass(kSlack);
  const Tcp again = client.heard();
  EXPECT_EQ(again.text, text_of("hello"));
  EXPECT_EQ(again.seq, lost->seq);
  EXPECT_EQ(box.count(RrCount::kRetransmits), 1U);
  client.send("next");
  EXPECT_EQ(client.heard().text, text_of("next"));
}

TEST_F(RrLoss, TimeoutDoublesUntilTheClientIsGivenUpWithRst) {
  client.connect();
  client.send("x");
  box.reply();
  std::uint64_t timeout = 200;
  for (int i = 0; i < 8; ++i, timeout *= 2) {
    box.pass(timeout - 1);
    EXPECT_TRUE(box.silent()) << "retransmission " << i;
    EXPECT_LE(box.pass_until_sent(kSlack), kSlack);
    EXPECT_EQ(box.reply()->text, text_of("x"));
  }
  EXPECT_LE(box.pass_until_sent(timeout + kSlack), timeout + kSlack);
  EXPECT_EQ(box.reply()->flags, unsigned{RST | ACK});
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsTimedOut), 1U);
  EXPECT_EQ(box.shared.owners().count(), 0U);
}

TEST_F(RrLoss, AcknowledgedEchoIsNeverSentAgain) {
  client.connect();
  client.send("x");
  client.heard();
  client.send(ACK);
  box.pass(5000);
  EXPECT_TRUE(box.silent());
}

TEST_F(RrLoss, ConnectionThatWasBusyKeepsAnExactTimeout) {
  client.connect();
  for (int i = 0; i < 300; ++i) {
    client.send("x");
    client.heard();
    box.pass(7);
  }
  client.send("y");
  const auto lost = box.reply();
  box.pass(199);
  EXPECT_TRUE(box.silent());
  box.pass(kSlack);
  EXPECT_EQ(box.reply()->seq, lost->seq);
}

TEST_F(RrLoss, SeveralLostEchoesComeAgainInOneSegment) {
  client.connect();
  for (const char* text : {"a", "b", "c"}) client.send(text);
  for (int i = 0; i < 3; ++i) box.reply();
  box.pass(200 + kSlack);
  EXPECT_EQ(client.heard().text, text_of("abc"));
}

TEST_F(RrLoss, AfterATimeoutTheRestFollowsTheAck) {
  client.connect();
  for (int i = 0; i < 3; ++i) client.send(ACK, Bytes(536, static_cast<std::uint8_t>(i)));
  for (int i = 0; i < 3; ++i) box.reply();
  box.pass(200 + kSlack);
  EXPECT_EQ(client.heard().text, Bytes(536, 0));
  EXPECT_TRUE(box.silent()) << "one segment until the client answers";
  client.send(ACK);
  EXPECT_EQ(client.heard().text, Bytes(536, 1));
  EXPECT_EQ(client.heard().text, Bytes(536, 2));
}

TEST_F(RrLoss, LostSynAckIsSentAgainAndThenForgotten) {
  client.send(SYN);
  const auto lost = box.reply();
  for (int i = 0; i < 4; ++i) {
    box.pass(1000U << static_cast<unsigned>(i));
    box.pass(kSlack);
    const auto again = box.reply();
    ASSERT_TRUE(again) << i;
    EXPECT_EQ(again->flags, unsigned{SYN | ACK});
    EXPECT_EQ(again->seq, lost->seq);
    EXPECT_EQ(again->options, lost->options);
  }
  box.pass(17'000);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kHandshakesFailed), 1U);
}

TEST_F(RrLoss, RepeatedSynIsAnsweredAlike) {
  const Tcp syn = client.segment(SYN);
  box.receive(syn);
  const auto first = box.reply();
  box.now += 300'000'000;
  box.receive(syn);
  EXPECT_EQ(box.reply()->seq, first->seq);
  EXPECT_EQ(box.connections(), 1U);
}

TEST_F(RrLoss, NewSynOfAHalfOpenConnectionTakesItsPlace) {
  client.send(SYN);
  box.reply();
  client.seq = 77777;
  client.connect();
  client.send("x");
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.connections(), 1U);
}

TEST_F(RrLoss, LostAckOfTheHandshakeIsMadeUpForByData) {
  client.send(SYN);
  client.heard();
  client.send("x");
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), 1U);
}

TEST_F(RrLoss, RepeatedRequestIsAcknowledgedAndNotEchoedTwice) {
  client.connect();
  const Tcp request = client.segment(ACK | PSH, text_of("x"));
  box.receive(request);
  box.reply();
  box.receive(request);
  const auto answer = box.reply();
  EXPECT_TRUE(answer->text.empty());
  EXPECT_EQ(answer->ack, request.seq + 1);
  EXPECT_EQ(box.count(RrCount::kOldDuplicates), 1U);
  EXPECT_EQ(box.count(RrCount::kTransactions), 1U);
}

TEST_F(RrLoss, RequestAheadOfItsTurnIsDroppedAndAskedForWithDuplicateAcks) {
  client.connect();
  Tcp late = client.segment(ACK | PSH, text_of("b"));
  late.seq = client.seq + 1;
  box.receive(late);
  EXPECT_EQ(box.reply()->ack, client.seq);
  EXPECT_EQ(box.count(RrCount::kOutOfOrder), 1U);
  client.send("a");
  EXPECT_EQ(client.heard().text, text_of("a"));
  client.send("b");
  EXPECT_EQ(client.heard().text, text_of("b"));
}

TEST_F(RrLoss, HalfKnownSegmentGivesItsNewHalf) {
  client.connect();
  client.send("ab");
  client.heard();
  Tcp overlap = client.segment(ACK | PSH, text_of("abcd"));
  overlap.seq -= 2;
  box.receive(overlap);
  EXPECT_EQ(client.heard().text, text_of("cd"));
}

TEST_F(RrLoss, ClosedWindowHoldsTheEchoUntilItOpens) {
  client.connect();
  client.base.window = 0;
  client.send("wait");
  const auto ack = box.reply();
  EXPECT_TRUE(ack->text.empty());
  EXPECT_EQ(ack->ack, client.seq);
  client.base.window = 100;
  client.send(ACK);
  EXPECT_EQ(client.heard().text, text_of("wait"));
}

TEST_F(RrLoss, SmallWindowIsFilledAndNotOverrun) {
  client.connect();
  client.base.window = 3;
  client.send("abcdef");
  EXPECT_EQ(client.heard().text, text_of("abc"));
  EXPECT_TRUE(box.silent());
  client.send(ACK);
  EXPECT_EQ(client.heard().text, text_of("def"));
}

TEST_F(RrLoss, ClosedWindowIsProbedWithOneByteEverMoreSeldom) {
  client.connect();
  client.base.window = 0;
  client.send("probe");
  const std::uint32_t next = box.reply()->seq;
  std::uint64_t timeout = 200;
  for (int i = 0; i < 4; ++i, timeout *= 2) {
    box.pass(timeout + kSlack);
    const auto probe = box.reply();
    ASSERT_TRUE(probe) << i;
    EXPECT_EQ(probe->text, text_of("p"));
    EXPECT_EQ(probe->seq, next);
    EXPECT_TRUE(box.silent());
  }
  EXPECT_EQ(box.count(RrCount::kWindowProbes), 4U);
}

TEST_F(RrLoss, ProbeThatTheClientTakesCounts) {
  client.connect();
  client.base.window = 0;
  client.send("probe");
  box.reply();
  box.pass(200 + kSlack);
  EXPECT_EQ(client.heard().text, text_of("p"));
  client.base.window = 1000;
  client.send(ACK);
  EXPECT_EQ(client.heard().text, text_of("robe"));
  client.close();
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, FinWaitsForEchoThatTheClientCannotTakeYet) {
  client.connect();
  client.base.window = 0;
  client.send("last");
  box.reply();
  client.send(FIN | ACK);
  EXPECT_EQ(box.reply()->flags, unsigned{ACK});
  client.base.window = 100;
  client.send(ACK);
  const Tcp answer = client.heard();
  EXPECT_EQ(answer.text, text_of("last"));
  EXPECT_EQ(answer.flags, unsigned{FIN | PSH | ACK});
  client.send(ACK);
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, LostFinIsSentAgain) {
  client.connect();
  client.send(FIN | ACK);
  const auto lost = box.reply();
  box.pass(200 + kSlack);
  const Tcp again = client.heard();
  EXPECT_EQ(again.flags, unsigned{FIN | ACK});
  EXPECT_EQ(again.seq, lost->seq);
  client.send(ACK);
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, ClientThatVanishedIsFoundAfterTheIdleTime) {
  client.connect();
  box.pass(599'000);
  EXPECT_EQ(box.connections(), 1U);
  box.pass(2'000);
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.reply()->flags, unsigned{RST | ACK});
  EXPECT_EQ(box.count(RrCount::kConnectionsTimedOut), 1U);
}

TEST_F(RrLoss, WithoutMbufsNothingIsLostButTime) {
  client.connect();
  client.send("x");
  const auto lost = box.reply();
  box.outbox().no_mbufs = true;
  box.pass(200 + kSlack);
  EXPECT_TRUE(box.silent());
  box.outbox().no_mbufs = false;
  box.pass(400 + kSlack);
  EXPECT_EQ(box.reply()->seq, lost->seq);
}

TEST_F(RrLoss, WithoutABufferARequestIsIgnoredUntilThereIsOne) {
  auto settings = box_settings();
  settings.connections = 9000;
  RrBox full{settings};
  const std::uint32_t buffers = settings.buffers();
  std::vector<ScriptedClient> clients;
  for (std::uint32_t i = 0; i <= buffers; ++i) {
    clients.emplace_back(full, false, static_cast<std::uint16_t>(1000 + i));
    clients.back().connect();
    clients.back().send(ACK, Bytes(100, 1));
    if (i == buffers) break;
    EXPECT_EQ(clients.back().heard().text.size(), 100U);
  }
  EXPECT_TRUE(full.silent());
  EXPECT_EQ(full.count(RrCount::kNoBuffer), 1U);
  clients[0].send(ACK);
  clients.back().seq -= 100;
  clients.back().send(ACK, Bytes(100, 1));
  EXPECT_EQ(clients.back().heard().text.size(), 100U);
  for (ScriptedClient& each : clients) each.close();
  EXPECT_EQ(full.engine().echoes().free_buffers(), buffers);
}

TEST_F(RrLoss, FewBytesNeedNoBuffer) {
  client.connect();
  const std::uint32_t before = box.engine().echoes().free_buffers();
  client.send(std::string(32, 'x'));
  EXPECT_EQ(box.engine().echoes().free_buffers(), before);
  client.send("y");
  EXPECT_EQ(box.engine().echoes().free_buffers(), before - 1);
}

TEST_F(RrLoss, RstWithTheExactSequenceNumberEndsTheConnection) {
  client.connect();
  client.send(RST);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsReset), 1U);
}

TEST_F(RrLoss, RstElsewhereInTheWindowIsChallenged) {
  client.connect();
  Tcp rst = client.segment(RST);
  ++rst.seq;
  box.receive(rst);
  const auto challenge = box.reply();
  EXPECT_EQ(challenge->flags, unsigned{ACK});
  EXPECT_EQ(challenge->ack, client.seq);
  EXPECT_EQ(box.connections(), 1U);
}

TEST_F(RrLoss, RstOutsideTheWindowIsIgnored) {
  client.connect();
  for (const std::uint32_t off : {0xffffffffU, 4096U, 0x80000000U}) {
    Tcp rst = client.segment(RST);
    rst.seq += off;
    box.receive(rst);
  }
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.connections(), 1U);
  EXPECT_EQ(box.count(RrCount::kResetsIgnored), 3U);
}

TEST_F(RrLoss, ChallengesAreSparse) {
  client.connect();
  Tcp rst = client.segment(RST);
  ++rst.seq;
  for (int i = 0; i < 50; ++i) box.receive(rst);
  EXPECT_EQ(box.count(RrCount::kChallengeAcks), 1U);
  EXPECT_EQ(box.count(RrCount::kChallengesSpared), 49U);
  box.reply();
  box.pass(202);
  box.receive(rst);
  EXPECT_TRUE(box.reply());
}

TEST_F(RrLoss, ClientThatRestartedIsChallengedThenServed) {
  client.connect();
  client.send("x");
  client.heard();
  client.seq += 500'000;
  const Tcp syn = client.segment(SYN);
  box.receive(syn);
  const auto challenge = box.reply();
  EXPECT_EQ(challenge->flags, unsigned{ACK});
  Tcp rst = client.segment(RST);  // as RFC 9293 has SYN-SENT answer an ACK it cannot use
  rst.seq = challenge->ack;
  box.receive(rst);
  EXPECT_EQ(box.connections(), 0U);
  client.connect();
  client.send("y");
  EXPECT_EQ(client.heard().text, text_of("y"));
}

TEST_F(RrLoss, AckOfWhatWasNeverSentIsChallenged) {
  client.connect();
  client.ack += 1;
  client.send("x");
  EXPECT_EQ(box.count(RrCount::kChallengeAcks), 1U);
  EXPECT_EQ(box.count(RrCount::kTransactions), 0U);
  EXPECT_TRUE(box.reply()->text.empty());
}

TEST_F(RrLoss, WrongAckOfSynAckIsResetAndTheHandshakeGoesOn) {
  client.send(SYN);
  client.heard();
  Tcp wrong = client.segment(ACK);
  wrong.ack += 5;
  box.receive(wrong);
  const auto rst = box.reply();
  EXPECT_EQ(rst->flags, unsigned{RST});
  EXPECT_EQ(rst->seq, wrong.ack);
  client.send(ACK);
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), 1U);
}

TEST_F(RrLoss, HalfOpenConnectionEndsByRst) {
  client.send(SYN);
  client.heard();
  client.send(RST);
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kHandshakesFailed), 1U);
  EXPECT_EQ(box.count(RrCount::kConnectionsReset), 0U);
}

TEST_F(RrLoss, KeepAliveProbeIsAnswered) {
  client.connect();
  client.send("x");
  client.heard();
  Tcp probe = client.segment(ACK);
  --probe.seq;
  box.receive(probe);
  EXPECT_EQ(box.reply()->ack, client.seq);
}

TEST_F(RrLoss, ClosedWindowWaitedForDoesNotCountAgainstWhatIsSentWhenItOpens) {
  client.connect();
  client.base.window = 0;
  client.send("hello");
  box.reply();
  for (int i = 0; i < 12; ++i) {  // through every step of the probes' backoff
    box.pass_until_sent(60'000);
    box.reply();
    client.send(ACK);
  }
  client.base.window = 60'000;
  client.send(ACK);
  const auto lost = box.reply();
  ASSERT_TRUE(lost);
  box.pass(199);
  EXPECT_TRUE(box.silent());
  EXPECT_LE(box.pass_until_sent(kSlack), kSlack);
  EXPECT_EQ(box.reply()->text, text_of("hello"));
  EXPECT_EQ(box.connections(), 1U);
}

TEST_F(RrLoss, AckAtTheRightEdgeOfTheWindowCounts) {
  client.connect();
  client.send("x");
  const Tcp echo = client.heard();
  Tcp pure = client.segment(ACK);
  pure.seq += echo.window;  // all that may be sent was sent, and lost
  box.receive(pure);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.count(RrCount::kChallengeAcks), 0U);
  box.pass(1000);
  EXPECT_TRUE(box.silent()) << "the echo is acknowledged";
  pure.seq += 2;  // the echo left room for one byte more
  box.receive(pure);
  EXPECT_EQ(box.count(RrCount::kChallengeAcks), 1U);
}

TEST_F(RrLoss, AckFromTheEdgeDoesNotHideTheWindowsOfWhatIsSentAgain) {
  client.connect();
  client.base.window = 4;
  client.send("abcd");
  const Tcp echo = client.heard();
  client.base.window = 0;
  Tcp pure = client.segment(ACK);
  pure.seq += echo.window;
  box.receive(pure);
  client.base.window = 4;
  client.send("efghijkl");  // sent again, from before the edge
  EXPECT_TRUE(box.reply()->text.empty()) << "it acknowledges nothing new: its window is an old one";
  box.pass(200 + kSlack);
  EXPECT_EQ(client.heard().text, text_of("e"));
  client.send("m");
  EXPECT_EQ(client.heard().text, text_of("fghi"));
}

TEST_F(RrLoss, ClientThatKeepsItsConnectionAliveIsNotIdle) {
  client.connect();
  client.send("x");
  client.heard();
  client.send(ACK);
  Tcp probe = client.segment(ACK);
  --probe.seq;
  Tcp old = client.segment(ACK, text_of("x"));  // a probe with a byte, as some systems send
  --old.seq;
  for (int i = 0; i < 4; ++i) {
    box.pass(400'000);
    box.receive(i % 2 == 0 ? probe : old);
    EXPECT_EQ(box.reply()->flags, unsigned{ACK}) << i;
  }
  EXPECT_EQ(box.connections(), 1U);
}

TEST_F(RrLoss, ProbesWithAnImpossibleAckKeepNothingAlive) {
  client.connect();
  Tcp probe = client.segment(ACK);
  --probe.seq;
  for (const std::uint32_t off : {1U, 0x10000U, 0x80000000U}) {
    probe.ack = client.ack + off;
    box.pass(250'000);
    box.receive(probe);
  }
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsTimedOut), 1U);
}

TEST_F(RrLoss, ClientThatTookItsWindowBackAndAnswersIsWaitedFor) {
  client.connect();
  client.send("abc");
  const auto echo = box.reply();
  client.ack = echo->seq;
  client.base.window = 0;
  client.send(ACK);
  for (std::uint64_t i = 1; i <= 14; ++i) {  // for six minutes
    ASSERT_LE(box.pass_until_sent(60'000), 60'000U);
    const auto probe = box.reply();
    EXPECT_EQ(probe->text, text_of("a"));
    EXPECT_EQ(probe->seq, echo->seq);
    EXPECT_EQ(box.count(RrCount::kWindowProbes), i);
    client.send(ACK);
    EXPECT_TRUE(box.silent());
  }
  client.base.window = 100;
  client.send(ACK);
  EXPECT_EQ(client.heard().text, text_of("abc"));
  client.close();
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, EchoThatWasUnderWayWhenTheWindowClosedIsTakenWhenItsAckComes) {
  client.connect();
  client.send("abc");
  const auto echo = box.reply();
  client.ack = echo->seq;
  client.base.window = 0;
  client.send(ACK);
  box.pass(200 + kSlack);
  EXPECT_EQ(box.reply()->text, text_of("a"));
  client.ack += 3;  // all of it had come
  client.base.window = 100;
  client.send("d");
  EXPECT_EQ(client.heard().text, text_of("d"));
  client.close();
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, FinIntoAClosedWindowIsRepeatedAsLongAsTheClientAnswers) {
  client.connect();
  client.base.window = 0;
  client.send(FIN | ACK);
  EXPECT_EQ(box.reply()->flags, unsigned{FIN | ACK});
  for (int i = 0; i < 14; ++i) {
    ASSERT_LE(box.pass_until_sent(60'000), 60'000U);
    const auto fin = box.reply();
    EXPECT_EQ(fin->flags, unsigned{FIN | ACK});
    client.ack = fin->seq;
    client.send(ACK);
    EXPECT_TRUE(box.silent()) << "its ACK is no reason to send it again at once";
  }
  ++client.ack;
  client.send(ACK);
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsClosed), 1U);
}

TEST_F(RrLoss, ClientThatClosedItsWindowAndVanishedIsFoundAfterTheIdleTime) {
  client.connect();
  client.send("abc");
  client.ack = box.reply()->seq;
  client.base.window = 0;
  client.send(ACK);
  box.pass(602'000);
  EXPECT_EQ(box.connections(), 0U);
  EXPECT_EQ(box.count(RrCount::kConnectionsTimedOut), 1U);
}

TEST_F(RrLoss, ChallengeOfLongAgoSparesNone) {
  auto settings = box_settings();
  settings.idle_timeout_s = 10'000'000;  // so that a wait of weeks is no reason to end it
  RrBox patient{settings};
  ScriptedClient each{patient};
  each.connect();
  Tcp rst = each.segment(RST);
  ++rst.seq;
  patient.receive(rst);
  ASSERT_TRUE(patient.reply());
  // A tick is 2^19 cycles at this clock's rate, and half the ticks' range goes by.
  patient.now += (std::uint64_t{1} << 31U << 19U) + RrBox::kHz;
  patient.receive(rst);
  EXPECT_TRUE(patient.reply());
  EXPECT_EQ(patient.count(RrCount::kChallengesSpared), 0U);
}

TEST_F(RrLoss, SegmentOfNoConnectionIsReset) {
  Tcp stray = client.segment(ACK, text_of("x"));
  stray.ack = 4711;
  box.receive(stray);
  const auto rst = box.reply();
  EXPECT_EQ(rst->flags, unsigned{RST});
  EXPECT_EQ(rst->seq, 4711U);
  Tcp fin = client.segment(FIN | ACK);
  box.receive(fin);
  EXPECT_TRUE(box.reply());
  EXPECT_EQ(box.count(RrCount::kResetsSent), 2U);
}

TEST_F(RrLoss, ClosedPortIsRefusedWithTheRightAck) {
  Tcp syn = client.segment(SYN, text_of("abc"));
  syn.server_port = 8;
  box.receive(syn);
  const auto rst = box.reply();
  EXPECT_EQ(rst->flags, unsigned{RST | ACK});
  EXPECT_EQ(rst->seq, 0U);
  EXPECT_EQ(rst->ack, syn.seq + 4);
  EXPECT_EQ(rst->server_port, 8);
  EXPECT_EQ(box.connections(), 0U);
}

TEST_F(RrLoss, RstOfNoConnectionIsNeverAnswered) {
  box.receive(client.segment(RST));
  box.receive(client.segment(RST | ACK));
  Tcp elsewhere = client.segment(RST);
  elsewhere.server_port = 99;
  box.receive(elsewhere);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.count(RrCount::kResetsIgnored), 3U);
}

/// The table of 64 connections is full of others.
class RrFull : public RrLoss {
 protected:
  RrFull() {
    for (std::uint16_t i = 0; i < 64; ++i) {
      others.emplace_back(box, false, static_cast<std::uint16_t>(1000 + i));
    }
  }
  void half_open(std::size_t from) {
    for (; from < others.size(); ++from) {
      others[from].send(SYN);
      others[from].heard();
    }
  }
  std::vector<ScriptedClient> others;
};

TEST_F(RrFull, SynBeyondTheLimitIsDroppedAndItsRepetitionServedWhenThereIsRoom) {
  for (ScriptedClient& each : others) each.connect();
  const Tcp syn = client.segment(SYN);
  box.pass(100);
  box.receive(syn);
  EXPECT_TRUE(box.silent()) << "RST would end the client's attempt";
  EXPECT_EQ(box.count(RrCount::kConnectionsRefused), 1U);
  others[0].send("x");
  EXPECT_EQ(others[0].heard().text, text_of("x"));
  others[1].close();
  client.connect();
  EXPECT_EQ(box.shared.owners().count(), 64U);
}

TEST_F(RrFull, HalfOpenFloodDoesNotKeepAClientOut) {
  half_open(0);
  box.pass(25);
  client.connect();
  client.send("x");
  EXPECT_EQ(client.heard().text, text_of("x"));
  EXPECT_EQ(box.connections(), 64U);
  EXPECT_EQ(box.shared.owners().count(), 64U);
  EXPECT_EQ(box.count(RrCount::kHandshakesReplaced), 1U);
  EXPECT_EQ(box.count(RrCount::kHandshakesFailed), 1U);
}

TEST_F(RrFull, TheOldestHalfOpenConnectionGivesWay) {
  half_open(0);
  others[2].send(ACK);  // no longer half-open
  others[3].send(RST);
  others[0].seq = 77'777;  // tries anew, and so is the newest one
  others[0].send(SYN);
  others[0].heard();
  ScriptedClient fills{box, false, 999};
  fills.connect();
  box.pass(25);
  client.connect();
  others[1].send(ACK);
  EXPECT_EQ(box.reply()->flags, unsigned{RST});
  for (const std::size_t i : {0U, 2U, 4U, 63U}) {
    others[i].send(ACK);
    others[i].send("x");
    EXPECT_EQ(others[i].heard().text, text_of("x")) << i;
  }
}

TEST_F(RrFull, HalfOpenConnectionsOfJustNowAreLeftTimeToAnswer) {
  half_open(0);
  client.send(SYN);
  EXPECT_TRUE(box.silent());
  EXPECT_EQ(box.count(RrCount::kConnectionsRefused), 1U);
  for (ScriptedClient& each : others) each.send(ACK);
  EXPECT_EQ(box.count(RrCount::kConnectionsOpened), 64U);
}

TEST_F(RrFull, OpenConnectionsNeverGiveWay) {
  for (std::size_t i = 0; i < 63; ++i) others[i].connect();
  half_open(63);
  for (std::uint16_t port = 2000; port < 2100; ++port) {
    box.pass(25);
    ScriptedClient flood{box, false, port};
    flood.send(SYN);
    flood.heard();
  }
  EXPECT_EQ(box.count(RrCount::kHandshakesReplaced), 100U);
  for (std::size_t i = 0; i < 63; ++i) {
    others[i].send("x");
    EXPECT_EQ(others[i].heard().text, text_of("x"));
  }
  box.pass(60'000);
  EXPECT_EQ(box.shared.owners().count(), 63U) << "the last half-open one timed out";
}

}  // namespace
}  // namespace mqsteer::test
