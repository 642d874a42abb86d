#pragma once

#include "handlers/handler.h"
#include "handlers/rr/responder.h"

namespace mqsteer {

/// Answers TCP at an address of our own: the endpoint with which TCP_RR is measured.
///
/// Made of an RrShared, the number of its worker and that worker's memory; see rr::Responder.
using Rr = rr::Responder<Outbox>;
static_assert(Handler<Rr>);

}  // namespace mqsteer
