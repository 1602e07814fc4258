// Package fakenode is a cluster for the tests of what talks to clusters: nodes that
// speak the client protocol over loopback, with one state machine per group in place of
// replicas and their logs. Leaders move when a test says so, and any request can meet a fault.
package fakenode
