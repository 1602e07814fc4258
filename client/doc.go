// Package client is the Go API of a Ringraft cluster.
//
// A [Client] learns the cluster map from any node it is given, keeps a few
// connections to every node it talks to, and sends each call straight to a node
// that serves its key: writes and linearizable reads to the leader of the key's
// group, local reads to any replica. It is safe for use by any number of
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
//   - [ErrUnknownOutcome]: the write may or may not have been applied. The client
//     never sends such a write again, for it could undo a newer one; only the
//     caller knows whether repeating it is safe.
//
// If the call's context ended first, the error matches context.Canceled or
// context.DeadlineExceeded as well.
//
// # Retries
//
// What was refused without effect is sent again, to the node that the refusal
// names or to another replica, with exponential backoff and full jitter, until the
// context ends. Reads are repeated after a broken connection and an unknown outcome
// too. A node that leaves calls waiting and does not even answer a greeting within
// [Config].DialTimeout is taken to be down: later calls go elsewhere.
package client
