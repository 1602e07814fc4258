// Package bench puts a measured load on a store of keys: a Ringraft cluster, by its
// client or by bare connections, or any server that speaks RESP.
//
// A [Load] is a closed loop, in which every caller sends its next request when the one
// before is answered, or an open one, in which requests are due at a rate, whether or
// not earlier ones have been answered. In an open loop latency counts from the moment
// at which a request was due: a store that stands still for a second delays all that
// was due in that second, and a generator that waited with it would not see that.
//
// The generator shares the machine with what it measures, so it is cheap: one goroutine
// per caller, no allocation per request of its own, a histogram for each processor.
package bench
