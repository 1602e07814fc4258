// Package transport is the native client protocol over TCP: frames, the server's
// end and the client's end of a connection. It knows requests and results as the
// op package encodes them, and nothing of what they mean.
//
// # Frames
//
// A connection carries frames in both directions. All numbers are big-endian.
//
//	offset size field
//	     0    4 length    of all that follows, 12 to 12 + op.MaxMessage
//	     4    1 version   1
//	     5    1 type      1 request, 2 response, 3 goodbye
//	     6    2 reserved  0
//	     8    4 id        chosen by the client, repeated in the response; 0 in a goodbye
//	    12    4 checksum  CRC-32C (Castagnoli) of version to id, and the body
//	    16      body      an op.Request, or an op.Result
//
// Requests are pipelined: responses come in any order, and the id says whose they
// are. A client uses an id again only after its response has come.
//
// A body that is no request is answered with an error, like any request that fails.
// A header or checksum that is wrong ends the connection, since nobody knows where
// the next frame begins.
//
// # Goodbye
//
// A server that ends a connection stops reading requests, answers those it has
// taken, and sends a goodbye whose result holds the reason as its error. A request
// that has no answer when the goodbye comes was not taken, and nothing happened,
// unless the error's kind is op.KindUnknown: then the server gave up waiting for
// answers of its own. A connection that breaks without a goodbye says nothing.
package transport
