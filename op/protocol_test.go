package op_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

var update = flag.Bool("update", false, "write the table of operations into docs/protocol.md")

const (
	protocolFile = "../docs/protocol.md"
	tableStart   = "<!-- operations: go test ./op -run Protocol -update -->\n"
	tableEnd     = "<!-- end of operations -->\n"
)

// TestProtocolDocumentListsTheTable keeps docs/protocol.md in step with the table.
func TestProtocolDocumentListsTheTable(t *testing.T) {
	doc, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), tableStart)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", protocolFile, tableStart, tableEnd)
	}
	want := []byte(before + tableStart + operationsTable() + tableEnd + after)
	if *update {
		if err := os.WriteFile(protocolFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(doc, want) {
		t.Errorf("%s is out of date: run go test ./op -run Protocol -update", protocolFile)
	}
}

func operationsTable() string {
	var b strings.Builder
	classes := map[op.Class]string{
		op.ClassRead: "read", op.ClassWrite: "write", op.ClassCluster: "cluster", op.ClassInternal: "internal", op.ClassPart: "part",
	}
	b.WriteString("| code | name | class | fields after the code | result | what it does |\n|---|---|---|---|---|---|\n")
	for _, s := range op.Specs() {
		answer := s.Answer
		if answer == "" {
			answer = "–"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | `%s` | %s | %s |\n", s.Code, s.Name, classes[s.Class], s.Array, answer, s.Doc)
	}
	return b.String()
}
