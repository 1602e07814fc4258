package op

import "fmt"

// Code is an operation's number on the wire and in the log. It is never reused.
type Code uint8

// The codes. Reads start at 1, writes at 32, cluster operations at 64, internal
// ones at 96, those between nodes at 112.
const (
	CodeGet  Code = 1
	CodeStat Code = 2
	CodeMGet Code = 3
	CodeScan Code = 4

	CodeGetTxn Code = 5

	CodeSet     Code = 32
	CodeDelete  Code = 33
	CodeExpire  Code = 34
	CodeAdd     Code = 35
	CodeMSet    Code = 36
	CodeMDelete Code = 37
	CodeTxn     Code = 38

	CodeOpenSession Code = 39
	CodeAbortTxn    Code = 40

	CodeCloseSession Code = 41
	CodeOnce         Code = 42

	CodeHello     Code = 64
	CodeMap       Code = 65
	CodeStatus    Code = 66
	CodeTransfer  Code = 67
	CodeSetConfig Code = 68

	CodeSweep     Code = 96
	CodeConfigure Code = 97

	CodePrepare Code = 112
	CodeDecide  Code = 113
	CodeFinish  Code = 114
	CodeForget  Code = 115
)

// String returns the operation's name.
func (c Code) String() string {
	if int(c) < len(specs) && specs[c].Name != "" {
		return specs[c].Name
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// UnknownCodeError reports an operation that this program does not know.
type UnknownCodeError struct{ Code uint64 }

func (e *UnknownCodeError) Error() string {
	return fmt.Sprintf("operation code %d is unknown here", e.Code)
}

// Class says who may send an operation and where it runs.
type Class uint8

const (
	// ClassRead runs on one replica.
	ClassRead Class = iota + 1
	// ClassWrite goes through a group's log.
	ClassWrite
	// ClassCluster is answered by a node, for itself or from the cluster map.
	ClassCluster
	// ClassInternal goes through a group's log and is proposed by its leader only.
	ClassInternal
	// ClassPart goes through a group's log, and is sent by a transaction's coordinator
	// or a group's leader, never by a client. Sent twice it does the same as once.
	ClassPart
)

// Spec is an operation's line in the table.
type Spec struct {
	Code   Code
	Name   string
	Class  Class
	Fields int    // after the code
	Array  string // the encoding, for the protocol document
	Answer string // the meaningful fields of the result
	Doc    string
	decode func(*reader) Op
}

// Specs returns the table in the order of codes.
func Specs() []Spec {
	var known []Spec
	for _, s := range specs {
		if s.decode != nil {
			known = append(known, s)
		}
	}
	return known
}

// SpecOf returns the line of c.
func SpecOf(c Code) Spec { return specs[c] }

var specs = table()

func table() (t [256]Spec) {
	for _, s := range []Spec{
		{CodeGet, "get", ClassRead, 1, "[key]", "found, value, version, ttl", "Read a key.", (*reader).get},
		{CodeStat, "stat", ClassRead, 1, "[key]", "found, version, ttl, number", "Whether a key exists, its TTL and length, without its value.", (*reader).stat},
		{CodeMGet, "mget", ClassRead, 1, "[[key…]]", "items", "Read several keys of one group at one instant.", (*reader).mget},
		{CodeScan, "scan", ClassRead, 5, "[prefix, cursor, last, limit, values]", "items, next", "A page of the keys with a prefix.", (*reader).scan},
		{CodeGetTxn, "get-txn", ClassRead, 2, "[id, home]", "number", "What became of a transaction: 0 undecided or forgotten, 1 committed, 2 aborted.", (*reader).getTxn},

		{CodeSet, "set", ClassWrite, 6, "[key, value, ttl, keep_ttl, protect, cond]", "version, found", "Put a value.", (*reader).set},
		{CodeDelete, "delete", ClassWrite, 2, "[key, cond]", "version, found", "Remove a key.", (*reader).delete},
		{CodeExpire, "expire", ClassWrite, 3, "[key, ttl, cond]", "found, version, ttl", "Change or, with 0, remove a key's TTL.", (*reader).expire},
		{CodeAdd, "add", ClassWrite, 7, "[key, delta, min, max, clamp, ttl, cond]", "number, version, found", "Add to an integer, within bounds.", (*reader).add},
		{CodeMSet, "mset", ClassWrite, 4, "[[key, value…], ttl, protect, cond]", "items", "Put several values of one group in one entry.", (*reader).mset},
		{CodeMDelete, "mdelete", ClassWrite, 2, "[[key…], cond]", "number, items", "Remove several keys of one group in one entry.", (*reader).mdelete},
		{CodeTxn, "txn", ClassWrite, 4, "[[key, cond…], [operation…], [operation…], id]", "unmet, results, items", "Compares, then the first or the second list of operations, all or none.", (*reader).txn},
		{CodeOpenSession, "open-session", ClassWrite, 2, "[slot, ttl]", "number", "Open a session, in which writes happen exactly once.", (*reader).openSession},
		{CodeAbortTxn, "abort-txn", ClassWrite, 2, "[id, home]", "number", "Abort a transaction that is not decided yet; the outcome, as get-txn tells it.", (*reader).abortTxn},
		{CodeCloseSession, "close-session", ClassWrite, 2, "[slot, session]", "found", "End a session of which all answers have come.", (*reader).closeSession},
		{CodeOnce, "once", ClassWrite, 6, "[key, mark, ttl, [key, cond…], [operation…], [operation…]]", "found, value, unmet, results, items", "A transaction in one group, unless key tells that it was done; its answer is kept there.", (*reader).once},

		{CodeHello, "hello", ClassCluster, 1, "[cluster_id]", "detail", "Greet a node: it refuses a caller of another cluster.", (*reader).hello},
		{CodeMap, "map", ClassCluster, 1, "[epoch]", "detail", "The cluster map, empty if epoch is the newest.", (*reader).clusterMap},
		{CodeStatus, "status", ClassCluster, 1, "[all]", "detail", "What a node, or with all every node, knows of its replicas.", (*reader).status},
		{CodeTransfer, "transfer", ClassCluster, 2, "[group, to]", "detail", "Hand a group's leadership over.", (*reader).transfer},
		{CodeSetConfig, "set-config", ClassCluster, 2, "[name, value]", "version", "Change a setting of the cluster.", (*reader).setConfig},

		{CodeSweep, "sweep", ClassInternal, 1, "[limit]", "number", "Remove records, sessions and decisions past their end.", (*reader).sweep},
		{CodeConfigure, "configure", ClassInternal, 2, "[max_bytes, epoch]", "", "Take over the cluster's settings.", (*reader).configure},

		{CodePrepare, "prepare", ClassPart, 3, "[attempt, [key, cond…], [operation…]]", "unmet, results, items", "Lock a part of a transaction and keep its effects.", (*reader).prepare},
		{CodeDecide, "decide", ClassPart, 6, "[attempt, commit, [key, cond…], [operation…], [slot…], payload]", "number, found, unmet, results, items", "Decide a transaction; to commit, with the home group's part.", (*reader).decide},
		{CodeFinish, "finish", ClassPart, 3, "[attempt, slot, commit]", "items", "Do or drop what was prepared, and unlock.", (*reader).finish},
		{CodeForget, "forget", ClassPart, 1, "[attempt]", "", "All participants have finished.", (*reader).forget},
	} {
		t[s.Code] = s
	}
	return t
}
