/** What all parts of an edge report to, and what its replicas share: the parts that depend on the settings only. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { countDivergence } from '../admin/console/divergence-estimate.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Log } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'
import { createRequestCounts } from '../http/rate-limit.ts'
import { requestLog } from '../http/request-events.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import { RedisReplica } from '../redis/replica.ts'
import { SharedCounters } from '../redis/shared-counters.ts'
import { createSharedRevocations } from '../redis/shared-revocations.ts'
import { createStoreStatus } from '../redis/store-status.ts'
import { createEdgeEvents } from '../telemetry/events.ts'
import { createTrialLog, type LogOutput, toLog } from './log.ts'
import { replicaNameOf } from './process.ts'
import { redisConnectionOptions } from './redis.ts'
import { buildAudit, buildTraces } from './telemetry.ts'

/** `name`: of this replica. Absent members: replicas share nothing, responses are not encrypted, nothing is traced. */
export type Base = Awaited<ReturnType<typeof buildBase>>

/** Rejects with an `Error` for the operator if a file cannot be read. The replica connects when it is started. */
export async function buildBase(settings: ReloadableConfig, { log, logTo, setEarlierLines, flush }: LogOutput) {
  const config = settings.initial
  const events = createEdgeEvents((error, kind, requestId) =>
    log.error({ err: error, reqId: requestId }, kind === 'request' ? 'request not reported' : `${kind} not reported`),
  )
  const { emit } = events
  setEarlierLines(events.requests.drain)
  events.on({ request: requestLog({ log, logTo }) })
  const divergence = countDivergence(events)
  const audit = buildAudit(settings, log, flush)
  events.on({ nodeCall: audit.onNodeCall, request: audit.onRequest })
  if (config.cache.trial) events.on({ cache: createTrialLog(log) })
  const traces = await buildTraces(settings, log)
  const storeStatus = createStoreStatus(
    () => replica?.heartbeat.failure,
    () => replica?.wrongTypes.keys ?? [],
  )
  const onStoreEvent: OnStoreEvent = (event, error) => {
    const reason = storeStatus.record(event, error)
    emit.storeEvent(event)
    log.warn({ event, ...(reason && { reason }) }, 'cache store')
  }
  const { redis: redisSettings, encryptionKeyFile } = config.cache
  const redis = await redisConnectionOptions(redisSettings)
  const times = { commandTimeout: redisSettings.timeout }
  const replica = redis && new RedisReplica({ redis, times, onEvent: onStoreEvent, onStep: emit.redisStep })
  const encryptionKey = encryptionKeyFile === undefined ? undefined : await readFile(encryptionKeyFile)
  const shared = replica && createSharedAccess({ replica, encryptionKey, log: toLog(log) })
  const name = replicaNameOf(config)
  return {
    settings,
    name,
    log,
    events,
    emit,
    divergence,
    audit,
    traces,
    storeStatus,
    onStoreEvent,
    replica,
    encryptionKey,
    shared,
  }
}

/** What replicas share for access and for calls to nodes. */
export type SharedAccess = ReturnType<typeof createSharedAccess>

/** Must be called before the replica starts. */
export function createSharedAccess({
  replica,
  encryptionKey,
  log,
}: {
  readonly replica: RedisReplica
  readonly encryptionKey?: Buffer | undefined
  readonly log: Log
}) {
  const counters = new SharedCounters(replica, encryptionKey && hash('sha256', encryptionKey, 'buffer'))
  const revocations = createSharedRevocations({ replica, clock: systemClock, log })
  return { counters, count: createRequestCounts(counters), revocations }
}
