// Package placement says where keys live: a slot belongs to a group, a group has
// replicas on nodes. All of it stands in one versioned value, the cluster map.
//
// The functions are pure and deterministic: the same input gives the same map on
// every node. A change returns a new [Map] and leaves the old one as it was, so a
// map may be read by many goroutines without a lock.
//
// A ring of hashed points proposes which group takes a slot; the table in the map
// is what counts. Both are held to bounds that the tests assert:
//
//   - no two groups differ by more than one slot;
//   - a group that joins as the n-th takes 4096/n slots, rounded down, and one that
//     leaves gives up its own; no slot moves between two groups that stay;
//   - no two nodes differ by more than one replica, nor by more than one first
//     preference, which is the group's leader while all is well;
//   - while one node of n is missing, no node leads more than one group above
//     groups/(n-1), rounded up.
package placement
