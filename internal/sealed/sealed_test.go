package sealed_test

import (
	"reflect"
	"testing"

	"github.com/ringraft/ringraft/internal/sealed"
	"github.com/ringraft/ringraft/op"
)

func TestTokenIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	token := sealed.Token{Cluster: "c", Seen: []op.GroupIndex{{Group: 1, Index: 7}, {Group: 300, Index: 1 << 60}}}
	text := token.String()
	got, err := sealed.ParseToken(text, "c", 1000)
	if err != nil || !reflect.DeepEqual(got, token) {
		t.Errorf("%+v, %v; want %+v", got, err, token)
	}
	for _, bad := range []string{"", "c", sealed.TokenPrefix, text[:len(text)-1], text + "A", "x" + text} {
		if _, err := sealed.ParseToken(bad, "c", 1000); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := sealed.ParseToken(text, "other", 1000); err == nil {
		t.Error("a token of another cluster is taken")
	}
	if _, err := sealed.ParseToken(text, "c", len(text)-1); err == nil {
		t.Error("a token over the limit is taken")
	}
}

// FuzzParseToken: any text is a token or an error.
func FuzzParseToken(f *testing.F) {
	f.Add("")
	f.Add(sealed.Token{Cluster: "c", Seen: []op.GroupIndex{{Group: 1, Index: 2}}}.String())
	f.Fuzz(func(t *testing.T, text string) {
		token, err := sealed.ParseToken(text, "c", 1000)
		if err != nil && (token.Cluster != "" || token.Seen != nil) {
			t.Fatalf("%+v and %v", token, err)
		}
	})
}
