package storage

import (
	"strings"
	"testing"
)

// TestSnapshotGoesToTheDiskPartByPart takes the file away by which a sink sends them.
func TestSnapshotGoesToTheDiskPartByPart(t *testing.T) {
	t.Parallel()
	r := openReplica(t, openDir(t, t.TempDir()))
	whole := strings.Repeat("state", partBytes)
	saveSnapshot(t, r, 10, 1, whole)
	wantSnapshots(t, r, whole)

	sink := createSnapshot(t, r, 20, 1).(*fileSink)
	if err := sink.state.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sink.Write(make([]byte, partBytes-1)); err != nil {
		t.Errorf("%v before a part is whole", err)
	}
	if _, err := sink.Write([]byte{1}); err == nil {
		t.Error("a part that cannot be sent is taken")
	}
	if err := sink.Cancel(); err != nil {
		t.Error(err)
	}
	wantSnapshots(t, r, whole)
}
