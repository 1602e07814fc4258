package storage

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

const (
	identityFile   = "identity.json"
	identityFormat = 1
	// maxIdentity bounds identity.json, in bytes: some thousand members.
	maxIdentity = 1 << 20
	// incarnationBytes is the length of an incarnation before it is printed in hex.
	incarnationBytes = 16
)

// Identity is who a node is. It is written at the birth of the data directory and
// once more when the node joins in forming a cluster.
type Identity struct {
	Format      int    `json:"format"`
	Node        string `json:"node"`
	Incarnation string `json:"incarnation"` // 128 random bits in hex: a wiped directory gets others
	// Log is the kind of all logs in the directory, for good. Directories made before
	// there was a choice do not say it.
	Log LogKind `json:"log,omitempty"`

	Cluster string            `json:"cluster,omitempty"` // "" until formed
	Members map[string]string `json:"members,omitempty"` // node to incarnation, at formation
}

func newIdentity(node string, log LogKind) Identity {
	var b [incarnationBytes]byte
	rand.Read(b[:]) // never fails
	return Identity{Format: identityFormat, Node: node, Incarnation: hex.EncodeToString(b[:]), Log: cmp.Or(log, LogShared)}
}

// clone returns a copy that shares no memory with id.
func (id Identity) clone() Identity {
	id.Members = maps.Clone(id.Members)
	return id
}

// formed returns id as a member of a cluster. It returns ErrFormed if id is a
// member of another one, or of the same with other members.
func (id Identity) formed(cluster string, members map[string]string) (Identity, error) {
	if cluster == "" {
		return id, errors.New("form cluster: the cluster id is empty")
	}
	if members[id.Node] != id.Incarnation {
		return id, fmt.Errorf("form cluster %s: its members do not hold node %s with incarnation %s", cluster, id.Node, id.Incarnation)
	}
	if id.Cluster == "" {
		id.Cluster, id.Members = cluster, maps.Clone(members)
		return id, nil
	}
	if id.Cluster != cluster || !maps.Equal(id.Members, members) {
		return id, fmt.Errorf("form cluster %s: %w: node %s belongs to cluster %s", cluster, ErrFormed, id.Node, id.Cluster)
	}
	return id, nil
}

// loadIdentity returns the identity of the directory, and creates it in a
// directory that holds no groups. It refuses one of another node, or with logs of
// another kind than log, if that is not "".
func loadIdentity(dir, node string, log LogKind) (Identity, error) {
	b, err := readBounded(filepath.Join(dir, identityFile), maxIdentity)
	if errors.Is(err, fs.ErrNotExist) {
		return createIdentity(dir, node, log)
	}
	if err != nil {
		return Identity{}, err
	}
	id, err := decodeIdentity(b)
	if err != nil {
		return Identity{}, fmt.Errorf("%s: %w", identityFile, err)
	}
	if id.Node != node {
		return Identity{}, fmt.Errorf("%w: %s; start that node with it, or choose another --data", ErrForeign, id.Node)
	}
	if log != "" && log != id.Log {
		return Identity{}, fmt.Errorf("--log is %s, but its logs are of the kind %s; say --log %[2]s, or choose another --data", log, id.Log)
	}
	return id, nil
}

func createIdentity(dir, node string, log LogKind) (Identity, error) {
	if _, err := os.Lstat(filepath.Join(dir, groupsDir)); !errors.Is(err, fs.ErrNotExist) {
		return Identity{}, fmt.Errorf("%w: %s is missing while %s exists; %s", ErrDamaged, identityFile, groupsDir, adviseRestore)
	}
	id := newIdentity(node, log)
	return id, id.save(dir)
}

func (id Identity) save(dir string) error {
	b, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	return writeAtomic(filepath.Join(dir, identityFile), append(b, '\n'))
}

func decodeIdentity(b []byte) (Identity, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(b, &version); err != nil {
		return Identity{}, fmt.Errorf("%w: %v; %s", ErrDamaged, err, adviseRestore)
	}
	if version.Format > identityFormat {
		return Identity{}, fmt.Errorf("%w: %d, this program knows %d; start the version that wrote it, or a later one", ErrNewer, version.Format, identityFormat)
	}
	var id Identity
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&id); err != nil {
		return Identity{}, fmt.Errorf("%w: %v; %s", ErrDamaged, err, adviseRestore)
	}
	id.Log = cmp.Or(id.Log, LogWAL) // what there was before a directory said it
	if err := id.check(); err != nil {
		return Identity{}, fmt.Errorf("%w: %v; %s", ErrDamaged, err, adviseRestore)
	}
	return id, nil
}

// check refuses what this package would not have written.
func (id Identity) check() error {
	incarnation, err := hex.DecodeString(id.Incarnation)
	switch {
	case id.Format != identityFormat:
		return fmt.Errorf("format is %d", id.Format)
	case id.Node == "":
		return errors.New("node is empty")
	case !id.Log.known():
		return fmt.Errorf("log is %q", id.Log)
	case err != nil || len(incarnation) != incarnationBytes:
		return fmt.Errorf("incarnation is %q", id.Incarnation)
	case (id.Cluster == "") != (len(id.Members) == 0):
		return errors.New("cluster and members do not go together")
	case id.Cluster != "" && id.Members[id.Node] != id.Incarnation:
		return errors.New("members do not hold this node")
	}
	return nil
}

// readBounded returns a file's content, at most limit bytes of it.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes; %s", filepath.Base(path), ErrDamaged, limit, adviseRestore)
	}
	return b, nil
}
