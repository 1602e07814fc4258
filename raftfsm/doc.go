// Package raftfsm is a group's state machine: it applies the entries of the group's
// log to its records, answers reads, and writes and restores snapshots.
//
// Replicas that have applied the same log hold the same state, down to the order of
// eviction, and show it by equal digests. For that, nothing in Apply depends on
// anything but the entries before it: no clock, no randomness, no configuration
// beyond the first settings, and no order in which Go walks a map.
//
// An entry is applied whole or not at all. A replica that meets one it cannot read
// halts: it stays at the state before, because to skip what its peers have applied
// would be to diverge in silence.
package raftfsm
