/** What is wrong with Redis, as the log, the probes and the console show it; what its errors mean, and what an operator does. */
import type { RedisFault } from '../core/cache.ts'
import type { StoreEvent } from '../core/events.ts'

interface RedisFailure {
  /** Without names and addresses. */
  readonly cause: string
  readonly remedy: string
}

/** The first row that matches an error explains it. */
const FAILURES: readonly (readonly [pattern: RegExp, cause: string, remedy: string])[] = [
  [
    /^timed out|^Command timed out/,
    'Redis replies later than reads wait',
    'check the network, the slow log of Redis and the load of its machine, or raise cache.redis.timeout',
  ],
  [
    /NOAUTH|WRONGPASS|invalid password|invalid username-password|no password is set|Client sent AUTH/,
    'Redis rejects the user or the password',
    'correct cache.redis.username and cache.redis.passwordFile, or the user in Redis; restart the edge after a change of the file',
  ],
  [
    /NOPERM|user executing the script can't/,
    'the ACL of Redis denies a command, a key or a channel',
    'give the user the rights in docs/redis.md, "User and rights"; "manager-edge check --connect" names what is missing',
  ],
  [
    /^READONLY/,
    'Redis is a read-only replica, as after a fail-over',
    'name the sentinels or the nodes of the cluster in cache.redis, or lead cache.redis.url to the primary',
  ],
  [/^MASTERDOWN/, 'Redis is a replica without its primary', 'check the primary and the fail-over'],
  [
    /^OOM/,
    'Redis is out of memory',
    'raise maxmemory, set maxmemory-policy volatile-lru, and use a Redis for the edge only',
  ],
  [
    /LOADING|is not ready/,
    'Redis is loading its data, or accepts connections and does not reply',
    'wait, or check Redis',
  ],
  [
    /^MISCONF/,
    'Redis rejects writes because it cannot save its data',
    'check its disk, or turn persistence off, which the edge does not need',
  ],
  [
    /^NOREPLICAS/,
    'Redis rejects writes because it has too few replicas',
    'check its replicas and min-replicas-to-write',
  ],
  [/^BUSY/, 'a script of another program blocks Redis', 'end the script; use a Redis for the edge only'],
  [
    /CLUSTERDOWN|refresh slots cache|All nodes failed|startup nodes/i,
    'the Redis Cluster does not serve all slots, or none of its nodes can be reached',
    'check the nodes of the cluster and cache.redis.cluster',
  ],
  [/sentinel/i, 'no sentinel names a primary', 'check the sentinels, cache.redis.sentinels and cache.redis.name'],
  [
    /^DENIED.*protected mode/,
    'Redis runs in protected mode, and refuses other machines',
    'set aclfile in redis.conf, with "user default off"',
  ],
  [/ENOTFOUND|EAI_AGAIN/, 'the name of Redis cannot be resolved', 'correct the host in cache.redis, or the DNS'],
  [/max number of clients/, 'Redis has too many clients', 'raise its maxclients'],
  [
    /altnames|does not match certificate/,
    'the certificate of Redis is for another name than the one in cache.redis',
    'write a name of the certificate in cache.redis, or make a certificate with this name in subjectAltName',
  ],
  [
    /certificate has expired|certificate is not yet valid/,
    'the certificate of Redis is not valid today',
    'renew the certificate, or correct the clock of this machine',
  ],
  [
    /certificate required|handshake failure/,
    'Redis demands a certificate of its client',
    'set tls-auth-clients no in redis.conf; the edge authenticates with its password',
  ],
  [
    /self.signed certificate|unable to (?:verify|get)|issuer certificate/,
    'the certificate of Redis was signed by another CA than the one in cache.redis.tls.ca',
    'name the file of the CA that signed it; "openssl verify -CAfile CA CERTIFICATE" checks a pair',
  ],
  [/certificate|self.signed|SSL|TLS/i, 'TLS to Redis fails', 'check cache.redis.tls.ca and the certificate of Redis'],
]

const UNREACHABLE: RedisFailure = {
  cause: 'Redis cannot be reached',
  remedy: 'check that it runs, cache.redis and the network in between',
}

export function explainFailure(error: string): RedisFailure {
  const row = FAILURES.find(([pattern]) => pattern.test(error))
  return row === undefined ? UNREACHABLE : { cause: row[1], remedy: row[2] }
}

/** Returns the explanation and the error itself as one line. */
export function describeStoreFailure(error: string): string {
  const { cause, remedy } = explainFailure(error)
  // Errors of OpenSSL end with a line break.
  return `${cause}; ${remedy} (${error.trim()})`
}

/** Why reads do not use Redis. */
export interface HeartbeatFailure {
  /** As Redis or the connection reports it. */
  readonly error: string
  /** Since when there is no connection, or Redis refuses commands. Absent: its replies come later than reads wait. */
  readonly refusedSince?: number
}

/** Redis counts as full this long after it has refused to store a response. */
const FULL_MS = 60_000

/** What is wrong with Redis. `failure` returns why reads do not use Redis. */
export function createStoreStatus(failure: () => HeartbeatFailure | undefined) {
  let unreachable = false
  let fullAt = Number.NEGATIVE_INFINITY
  return {
    /** `error`: of Redis, or of the connection to it. Returns it in words. */
    record(event: StoreEvent, error?: string): string | undefined {
      if (event === 'unreachable' || event === 'slow') unreachable = true
      if (event === 'reachable') unreachable = false
      if (event === 'full') fullAt = performance.now()
      return event === 'repaired' ? error : error && describeStoreFailure(error)
    },
    /** `unreachable`: reads do not use Redis. `faults`: what is wrong now, and what to do. */
    current() {
      const isFull = performance.now() - fullAt < FULL_MS
      const faults = [...(unreachable ? [outageOf(failure())] : []), ...(isFull ? [faultOf('redisFull', 'OOM')] : [])]
      return { unreachable, faults }
    },
  }
}

function outageOf(failure: HeartbeatFailure | undefined): RedisFault {
  if (failure === undefined) return { reason: 'redisUnreachable', detail: 'invalidations are being sent to Redis' }
  return faultOf(failure.refusedSince === undefined ? 'redisSlow' : 'redisUnreachable', failure.error)
}

function faultOf(reason: RedisFault['reason'], error: string): RedisFault {
  const { cause, remedy } = explainFailure(error)
  return { reason, detail: `${cause}; ${remedy}` }
}
