package shard

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/shard/storage"
)

// keyTerm is where Raft keeps the current term in its stable store.
const keyTerm = "CurrentTerm"

// bootstrap writes the first configuration of a replica that was never born here.
// One that was has a term and a log, or a snapshot. If it has lost either, it could
// vote twice in a term or for a log without what it acknowledged: it is refused.
func bootstrap(conf *raft.Config, c replicaConfig, st *storage.Replica, transport raft.Transport) error {
	term, history, err := stateOf(st)
	if err != nil {
		return fmt.Errorf("read the state of group %d: %w", c.group, err)
	}
	born := c.store.Born(c.group, c.self.Generation)
	switch {
	case born && (term == 0 || !history):
		return fmt.Errorf("group %d: the replica's term or log is gone from the data directory; "+
			"it must not vote again: restore the directory as it was", c.group)
	case born:
		return nil
	case !history:
		if err := writeFirst(conf, c, st, transport); err != nil {
			return fmt.Errorf("bootstrap group %d: %w", c.group, err)
		}
	}
	return c.store.MarkBorn(c.group, c.self.Generation)
}

// writeFirst bootstraps an empty replica, also one whose bootstrap was interrupted:
// Raft writes the term before the configuration, and takes no second bootstrap with
// a term. An unborn replica has never run, so the term means nothing yet.
func writeFirst(conf *raft.Config, c replicaConfig, st *storage.Replica, transport raft.Transport) error {
	if err := st.Stable.SetUint64([]byte(keyTerm), 0); err != nil {
		return err
	}
	return raft.BootstrapCluster(conf, st.Logs, st.Stable, st.Snapshots, transport, raft.Configuration{Servers: c.servers})
}

// stateOf returns the term that a replica has stored, 0 if none, and whether it has a
// log or a snapshot.
func stateOf(st *storage.Replica) (term uint64, history bool, err error) {
	term, err = st.Stable.GetUint64([]byte(keyTerm))
	if err != nil && err.Error() != "not found" { // what Raft itself goes by
		return 0, false, err
	}
	last, logErr := st.Logs.LastIndex()
	snapshots, snapshotErr := st.Snapshots.List()
	return term, last > 0 || len(snapshots) > 0, errors.Join(logErr, snapshotErr)
}
