"""Uses nodes at the addresses given, HOST:PORT each, through redis-py, and fails unless
all is as with a Redis server."""

import sys

import redis
from redis.cluster import ClusterNode, RedisCluster


def connect(address):
    host, port = address.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port), decode_responses=True, client_name="tester")


def check(got, want):
    if got != want:
        raise SystemExit(f"got {got!r}, want {want!r}")


def strings(r):
    check(r.set("a", "1", ex=100), True)
    check((r.get("a"), r.ttl("a"), r.incr("a")), ("1", 100, 2))
    check(r.set("a", "z", nx=True), None)
    check(r.set("a", "q", get=True), "2")
    check(r.getdel("a"), "q")
    check(r.mset({"x": 1, "y": 2}), True)
    check(r.mget("x", "y", "z"), ["1", "2", None])
    check(r.incrbyfloat("x", 0.5), 1.5)
    check(r.delete("x", "y", "z"), 2)


def pipelines(r):
    plain = r.pipeline(transaction=False)
    for i in range(1000):
        plain.set(f"p{i}", i).get(f"p{i}")
    check(plain.execute()[1::2], [str(i) for i in range(1000)])
    both = r.pipeline().set("p", 1).incr("p").get("p")
    check(both.execute(), [True, 2, "2"])
    check(sum(1 for _ in r.scan_iter(match="p*", count=7)), 1001)


def transactions(r):
    def add(p):
        value = int(p.get("watched") or 0)
        p.multi()
        p.set("watched", value + 1)

    r.delete("watched")
    for _ in range(10):
        check(r.transaction(add, "watched"), [True])
    check(r.get("watched"), "10")
    with r.pipeline() as p:
        p.watch("watched")
        r.set("watched", "changed")
        p.multi()
        p.set("watched", "lost")
        try:
            p.execute()
        except redis.WatchError:
            return
    raise SystemExit("a watched key changed, and the transaction happened")


def errors(r):
    r.set("word", "abc")
    try:
        r.incr("word")
    except redis.ResponseError as e:
        check(str(e), "value is not an integer or out of range")
        return
    raise SystemExit("a word was incremented")


def locks(r):
    r.delete("lock")
    mine = r.lock("lock", timeout=30, blocking=False)
    theirs = r.lock("lock", timeout=30, blocking=False)
    check((mine.acquire(), theirs.acquire()), (True, False))
    check((mine.owned(), theirs.owned()), (True, False))
    check((mine.extend(30), r.ttl("lock")), (True, 60))
    check((mine.reacquire(), r.ttl("lock")), (True, 30))
    mine.release()
    check(theirs.acquire(), True)
    r.set("lock", "stolen")
    for act in (theirs.release, mine.reacquire):
        try:
            act()
        except redis.exceptions.LockError:
            continue
        raise SystemExit("a lock that is not held was released or prolonged")
    check(r.get("lock"), "stolen")


def scripts(r):
    add = r.register_script("return redis.call('incrby', KEYS[1], ARGV[1])")
    r.delete("sum")
    check([add(keys=["sum"], args=[n]) for n in (1, 2, 3)], [1, 3, 6])
    r.script_flush()
    check(add(keys=["sum"], args=[4]), 10)
    check(r.pipeline().eval("return {1, 'a', redis.call('get', KEYS[1])}", 1, "sum").execute(), [[1, "a", "10"]])


def server(r):
    check(r.ping(), True)
    check(r.client_getname(), "tester")
    check(r.config_get("save"), {"save": ""})
    check(r.info("replication")["role"], "master")
    if r.command_count() < 50 or not r.time()[0]:
        raise SystemExit("COMMAND COUNT or TIME")


def clusters(addresses):
    nodes = [ClusterNode(*a.rsplit(":", 1)) for a in addresses]
    c = RedisCluster(startup_nodes=nodes, decode_responses=True)
    for i in range(100):
        check(c.set(f"c{i}", i), True)
        check(c.get(f"c{i}"), str(i))


for address in sys.argv[1:]:
    for part in (strings, pipelines, transactions, errors, locks, scripts, server):
        part(connect(address))
clusters(sys.argv[1:])
print("ok")
