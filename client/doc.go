// Package client is the Go API of a Ringraft cluster.
//
// A [Client] learns the cluster map from any node it is given, keeps a few
// connections to every node it talks to, and sends each call straight to a node
// that serves its key: writes and linearizable reads to the leader of the key's
// group, other reads to any replica. It is safe for use by any number of
// goroutines; calls share the connections and do not wait for each other.
//
// # Outcomes
//
// A call without an error is done. Every error matches one of these with errors.Is:
//
//   - [ErrNotFound]: the key does not exist.
//   - [ErrRefused]: the request breaks a rule, or the state does not allow it;
//     nothing happened, and the same call cannot succeed. [ErrOutOfMemory] is the
//     refusal for which only protected records are to blame.
//   - [ErrUnavailable]: nobody could serve the call in time, and nothing happened.
//   - [ErrConditionNotMet]: the write depended on what stands at its key, and that was
//     something else; nothing happened. The [ConditionError] tells what stood there.
//   - [ErrUnknownOutcome]: the time was over before the client knew whether the write
//     was applied. The [UnknownOutcomeError] holds a [Ticket] to ask again with.
//
// If the call's context ended first, the error matches context.Canceled or
// context.DeadlineExceeded as well.
//
// # Exactly once
//
// The client opens a session with every group that it writes to, and numbers its
// writes. The group keeps the answers until the client acknowledges them, and answers a
// repeat with the first answer. So a write of which the answer is lost, by a broken
// connection, a silent node or a leader's fall, is sent again to whoever leads now, until
// the context ends: it is applied once, and the caller gets the answer to that.
//
// Only when the context ends first, or the session has ended meanwhile, is the outcome
// unknown. [Client.Resolve] asks again, in any process, as long as the session lasts:
// [Config].SessionTTL after the last write in it.
//
// Changes of the cluster itself, as SetConfig, have no session: they are never repeated,
// and a lost answer leaves their outcome unknown. So does a lost answer to a delete in a
// group that has no memory left for a session.
//
// # Retries
//
// What was refused without effect is sent again, to the node that the refusal
// names or to another replica, with exponential backoff and full jitter, until the
// context ends. Reads, and writes in a session, are repeated after a broken connection,
// an unknown outcome and [Config].AttemptTimeout without an answer too. A node that
// leaves calls waiting and does not even answer a greeting within [Config].DialTimeout
// is taken to be down: later calls go elsewhere.
//
// # Order
//
// A write takes conditions, as IfVersion, that are judged in the same step as it is
// done; [Client.Update] and [Client.UpdateMany] read, decide and write on that ground.
// [Client.Txn] does several operations in one step. A read's [Level] says how old its
// answer may be.
package client
