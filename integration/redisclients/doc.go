// Package redisclients has only tests: they run a cluster of ringraft processes and use
// it through clients that others wrote, go-redis, redsync, redislock, redis-cli and
// redis-benchmark, as their users do. It knows the product by its command line only.
package redisclients
