package main

// plant is a fault of internal/mutant and the nets that must catch it, each of them.
type plant struct {
	fault string
	nets  []net
}

// net is tests of one package, of which one must fail.
type net struct {
	pkg   string // folder from the module's root
	tests []string
}

// order is all workloads through all troubles, in fake time. What they were told is
// checked by search for an order that explains it.
var order = net{"integration", []string{"TestSimOrderHolds"}}

// bank is transfers between accounts of all groups, of which readers add up all.
var bank = net{"integration", []string{"TestSimTransfersKeepTheTotal"}}

// agreement is what replicas have applied through random faults of disks, links and processes.
var agreement = net{"shard", []string{"TestReplicasAgreeWhateverBecomesOfTheirDisks"}}

// needs returns a test of p that is among those, if there is one.
func (p plant) needs(tests map[string]bool) (name string, ok bool) {
	for _, n := range p.nets {
		for _, name := range n.tests {
			if tests[name] {
				return name, true
			}
		}
	}
	return "", false
}

var plants = []plant{
	{"skipcondition", []net{order, {"raftfsm", []string{"TestConditions"}}}},
	{"clampunasked", []net{order, {"raftfsm", []string{"TestAddWithinBounds"}}}},
	{"reuseversion", []net{order, {"raftfsm", []string{"TestVersionsNeverRepeat"}}}},
	{"partialtxn", []net{order, {"raftfsm", []string{"TestAllOrNothing"}}}},
	{"ackatpropose", []net{order, {"shard", []string{"TestAnEntryWithoutAnswerIsUnknownAndAnsweredOnce"}}}},
	{"applybeforedisk", []net{agreement, {"shard", []string{"TestEntryOnTwoDisksOfThreeIsAcknowledgedNotBefore"}}}},
	{"tellbeforedisk", []net{agreement, {"shard", []string{"TestEntryOnTwoDisksOfThreeIsAcknowledgedNotBefore"}}}},
	{"lostisrefused", []net{order, {"shard", []string{"TestOutcomesOfRaftErrors"}}}},

	{"executetwice", []net{order, {"client", []string{"TestEveryCallCountsOnce"}}}},
	{"forgetsessions", []net{order, {"raftfsm", []string{"TestRepeatsGetTheFirstAnswer"}}}},
	{"newsequence", []net{{"client", []string{"TestEveryCallCountsOnce", "TestRepeatsCarryTheSameNumbers"}}}},

	{"ignorelocks", []net{order, {"raftfsm", []string{"TestPreparedKeysAreLocked"}}}},
	{"halfvisible", []net{bank, {"raftfsm", []string{"TestPreparedKeysAreLocked"}}}},
	{"finishundecided", []net{order}},
	{"latecommit", []net{{"raftfsm", []string{"TestTheFirstDecisionStands"}}}},

	{"skipround", []net{order, {"integration", []string{
		"TestSimLeaderCutOffAnswersNoLinearizableRead", "TestSimLeaderCutOffAnswersOnlyWhatItCanProve",
	}}}},
	{"staleproof", []net{order, {"shard", []string{"TestAProofServesReadsUntilItIsTooOldForThem"}}}},
	{"sessionatonce", []net{order, {"integration", []string{"TestSimSessionReadsWaitOrGoToTheLeader"}}}},

	{"localclock", []net{order}},
	{"timegoesback", []net{{"integration", []string{"TestSimTimeNeverGoesBackWhileClocksLeap"}}, {"raftfsm", []string{"TestDeadlines"}}}},
	{"localtouch", []net{order, {"raftfsm", []string{"TestReadsHintAtOldKeys"}}}},
	{"staletouch", []net{{"lru", []string{"TestCacheIsItsModel"}}}},
	{"evictprotected", []net{
		{"integration", []string{"TestSimProtectedRecordsAreNeverEvicted"}},
		{"raftfsm", []string{"TestCountersAreEvictedUnlessProtected"}},
	}},

	{"skipchecksum", []net{{"raftfsm", []string{"TestRestoreRefusesDamage"}}}},
	{"skiplogchecksum", []net{{"shard/storage", []string{"TestDamagedByteIsNeverReturned"}}}},
	{"skipsync", []net{
		{"shard/storage", []string{"TestWhatIsWrittenIsOnDisk"}},
		{"shard/storage", []string{"TestWhatIsAcknowledgedOutlivesThePower"}},
	}},
	{"skipdirsync", []net{{"shard/storage", []string{"TestWhatIsAcknowledgedOutlivesThePower"}}}},
	{"writebehindfailure", []net{{"shard/storage/sharedlog", []string{"TestScriptSurvivesEveryFault"}}}},
	{"votebyerror", []net{{"transport/peer", []string{"TestUnknownReplicaIsAnErrorThatIsNoVote"}}}},
	{"wipedmember", []net{
		{"integration", []string{"TestSimFormationRefusesAnotherSet"}},
		{"integration", []string{"TestWipedNodeIsRefused"}},
	}},
}
