/** What all parts of an edge report to, and what its replicas share: the parts that depend on the settings only. */

import { readFile } from 'node:fs/promises'
import { TLSSocket } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { createEndedTokens } from '../access/ended-tokens.ts'
import { createRevocationList } from '../access/revocations.ts'
import { AuditFile } from '../audit/file.ts'
import { type Audit, createAudit } from '../audit/index.ts'
import { createAuditLog } from '../audit/sink.ts'
import { parseHeaderLines } from '../config/named-files.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { usesRedisTls } from '../config/section-rules.ts'
import { systemClock } from '../core/timing.ts'
import { headerText } from '../core/values.ts'
import { peerOf, rangeCheck } from '../http/client-address.ts'
import { countInProcess } from '../http/request-counts.ts'
import { methodLabel } from '../http/request-events.ts'
import { requestLog } from '../http/request-log.ts'
import type { BeginTrace } from '../http/request-state.ts'
import type { OnStoreEvent, RedisConnectionOptions } from '../replicas/options.ts'
import { RedisReplica } from '../replicas/replica.ts'
import { createStoreStatus } from '../replicas/store-status.ts'
import { createEdgeEvents, type EdgeEvents } from '../telemetry/events.ts'
import type { Traces } from '../telemetry/traces/index.ts'
import { createTrialLog, type LogOutput, toLog } from './log.ts'
import { replicaNameOf, version } from './process.ts'
import { createSharedAccess } from './shared-access.ts'
import type { EdgeTimes } from './times.ts'

/** `name`: of this replica. Members that are undefined: replicas share nothing, responses are not encrypted, nothing is traced. */
export type Base = Awaited<ReturnType<typeof buildBase>>

/** Rejects with an `Error` for the operator if a file cannot be read. The replica connects when it is started. */
export async function buildBase(
  settings: ReloadableConfig,
  { log, logTo, setEarlierLines, flush }: LogOutput,
  { spanDelay, reportInterval }: Pick<EdgeTimes, 'spanDelay' | 'reportInterval'>,
) {
  const config = settings.initial
  const events = createEdgeEvents((error, kind, requestId) =>
    log.error({ err: error, reqId: requestId }, kind === 'request' ? 'request not reported' : `${kind} not reported`),
  )
  const { emit } = events
  setEarlierLines(events.requests.endTurn)
  events.on({ request: requestLog({ log, logTo }) })
  emitReloads(settings, emit)
  const audit = buildAudit(settings, log, flush)
  events.on({ nodeCall: audit.onNodeCall })
  if (config.cache.trial) events.on({ cache: createTrialLog(log) })
  const traces = await buildTraces(settings, log, spanDelay)
  const storeStatus = createStoreStatus(() => replica?.contact.failure)
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
  const shared = replica && createSharedAccess({ replica, encryptionKey, reportInterval, log: toLog(log) })
  const endedTokens = createEndedTokens(shared?.revocations ?? createRevocationList(systemClock), systemClock)
  const name = replicaNameOf(config)
  return {
    settings,
    name,
    log,
    events,
    audit,
    traces,
    storeStatus,
    onStoreEvent,
    encryptionKey,
    shared,
    /** Of all ports. */
    countRequest: shared?.count ?? countInProcess(),
    endedTokens,
  }
}

/** Emits an event for each reload that has changed settings. */
function emitReloads(settings: ReloadableConfig, emit: EdgeEvents['emit']): void {
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next, settings.current())
    return isChanged ? () => emit.operation({ kind: 'reload' }) : () => undefined
  })
}

/**
 * Rejects if the file of headers cannot be read. Resolves to `undefined` without a collector; the modules of traces are
 * not loaded then.
 */
async function buildTraces(
  { initial, derive }: ReloadableConfig,
  log: Logger,
  delay: number | undefined,
): Promise<Traces | undefined> {
  const { endpoint, headersFile } = initial.traces
  if (endpoint === undefined) return undefined
  const headers = headersFile === undefined ? {} : parseHeaders(await readFile(headersFile, 'utf8'), headersFile)
  const { createTraces } = await import('../telemetry/traces/index.ts')
  const sampling = derive((config) => config.traces)
  return createTraces({ url: endpoint, headers, sampling, version, log, ...(delay !== undefined && { delay }) })
}

/** `traceparent` is used only from trusted proxies: any other client could have all its requests traced. */
export function createTraceStarter(derive: ReloadableConfig['derive'], traces: Traces): BeginTrace {
  const isTrusted = derive(({ listen }) => rangeCheck(listen.trustedProxies))
  return ({ id, raw }) => {
    const { traceparent, tracestate } = raw.headers
    const isUsed = traceparent !== undefined && isTrusted()(peerOf(raw.socket))
    return traces.begin({
      id,
      method: methodLabel(raw.method),
      scheme: raw.socket instanceof TLSSocket ? 'https' : 'http',
      protocol: raw.httpVersion,
      ...(isUsed && { traceparent: headerText(traceparent), tracestate: headerText(tracestate) }),
    })
  }
}

function parseHeaders(text: string, file: string): Readonly<Record<string, string>> {
  const parsed = parseHeaderLines(text)
  if (!parsed.ok) throw new Error(`traces.headersFile: ${file}:${parsed.line} ${parsed.message}`)
  return parsed.headers
}

/** Creates the audit with its file, or with the log if `audit.file` is not set. `flush`: writes the buffered log lines. */
function buildAudit({ initial, derive, onReload }: ReloadableConfig, log: Logger, flush: () => void): Audit {
  const { file } = initial.audit
  const replica = replicaNameOf(initial)
  const onFailure = derive((config) => config.audit.onFailure)
  if (file !== undefined) {
    const onRotationFailure = ({ message }: Error) => log.warn({ fault: message }, 'audit file not rotated')
    const onUnlocked = (reason: string) => log.warn({ file, reason }, 'audit file not locked')
    const writing = derive((config) => config.audit)
    const sink = new AuditFile({ file, replica, writing, onRotationFailure, onUnlocked })
    return createAudit({ sink, onFailure, log })
  }
  // Audit records are written at every log level but `silent`, under a separate logger name.
  const levelOf = (level: string) => (level === 'silent' ? 'silent' : 'info')
  const auditLogger = log.child({ name: 'audit' }, { level: levelOf(initial.log.level) })
  onReload((next) => () => {
    auditLogger.level = levelOf(next.log.level)
  })
  return createAudit({ sink: createAuditLog(replica, auditLogger, flush), onFailure, log })
}

/** Returns how to connect to Redis; undefined if none is configured. Rejects if the CA file cannot be read. */
export async function redisConnectionOptions(
  redis: Config['cache']['redis'],
): Promise<RedisConnectionOptions | undefined> {
  const { url, sentinels, name, cluster, username, password, tls } = redis
  if (url === undefined && sentinels.length === 0 && cluster.length === 0) return undefined
  const ca = tls.ca === undefined ? {} : { ca: await readFile(tls.ca, 'utf8') }
  return {
    ...(url !== undefined && { url }),
    ...(sentinels.length > 0 && { sentinels }),
    ...(name !== undefined && { name }),
    ...(cluster.length > 0 && { cluster }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(usesRedisTls(redis) && { tls: ca }),
  }
}
