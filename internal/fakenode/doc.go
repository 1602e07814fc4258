// Package fakenode is a cluster for the tests of what talks to clusters: nodes that
// speak the client protocol over loopback, with one map in place of Raft groups and
// replicas. Leaders move when a test says so, and any request can meet a fault.
package fakenode
