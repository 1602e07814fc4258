package transport

import "github.com/ringraft/ringraft/op"

// answersPerBlock answers are allocated together. They are never used again, so a
// handler that answers twice cannot answer another's request.
const answersPerBlock = 64

// answer is the op.Replier of one request.
type answer struct {
	conn  *serverConn
	id    uint32
	code  op.Code // 0 if the request could not be decoded
	given bool    // guarded by conn.mu
}

// Reply sends res to the client.
func (a *answer) Reply(res op.Result) { a.conn.reply(a, &res) }

// answer returns the replier of a request that admit has counted.
func (c *serverConn) answer(id uint32, code op.Code) *answer {
	if len(c.answers) == 0 {
		c.answers = make([]answer, answersPerBlock)
	}
	a := &c.answers[0]
	c.answers = c.answers[1:]
	*a = answer{conn: c, id: id, code: code}
	return a
}
