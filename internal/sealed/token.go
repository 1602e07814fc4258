package sealed

import (
	"cmp"
	"slices"

	"github.com/ringraft/ringraft/op"
)

// TokenPrefix is what every session token starts with.
const TokenPrefix = "ringraft-session."

// Token is what a session has seen of a cluster. All fronts and the client take each
// other's.
type Token struct {
	Cluster string          `codec:"cluster"`
	Seen    []op.GroupIndex `codec:"seen"` // the newest log index of each group
}

// String returns the token as text.
func (t Token) String() string {
	slices.SortFunc(t.Seen, func(a, b op.GroupIndex) int { return cmp.Compare(a.Group, b.Group) })
	return Seal(TokenPrefix, t)
}

// ParseToken returns the token in text, at most limit bytes of it, and refuses one of
// another cluster.
func ParseToken(text, cluster string, limit int) (Token, *op.Error) {
	var t Token
	if err := Unseal("session token", TokenPrefix, text, limit, &t); err != nil {
		return Token{}, err
	}
	if t.Cluster != cluster {
		return Token{}, op.Invalid("session token", "is of cluster %q; this one is %q", t.Cluster, cluster)
	}
	return t, nil
}
