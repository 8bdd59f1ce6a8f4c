/** Builds metrics, traces and audit from the configuration. */
import { readFile } from 'node:fs/promises'
import { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import type { Problem } from '../admin/console/api-types.ts'
import type { CapacityMonitor } from '../admin/console/capacity.ts'
import { DEGRADATION_REASONS } from '../admin/console/problems.ts'
import type { Readiness } from '../admin/readiness.ts'
import { createAuditFile } from '../audit/file.ts'
import { type Audit, createAudit, createAuditLog } from '../audit/index.ts'
import type { CacheOperationsPorts } from '../cache/operations.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Certificates } from '../config/certificates.ts'
import { parseHeaderLines } from '../config/named-files.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { CacheStoreState } from '../core/cache-index.ts'
import { headerText } from '../core/values.ts'
import { fromTrusted, type ProxySettings } from '../http/client-address.ts'
import type { BeginTrace } from '../http/request-state.ts'
import { groupOf, methodLabel } from '../http/request-state.ts'
import { STORE_EVENTS } from '../redis/options.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import type { RequestCounts } from '../telemetry/request-counts.ts'
import type { Traces } from '../telemetry/traces/index.ts'
import { createWebhook, type Webhook } from '../telemetry/webhook.ts'
import type { Cluster } from '../upstream/index.ts'
import { commit, replicaNameOf, version } from './process.ts'
import type { ReloadStatus } from './reload.ts'

export interface MetricsParts {
  /** The name of this replica. */
  readonly name: string
  readonly events: EdgeEvents
  readonly requests: RequestCounts
  readonly cluster: Cluster
  readonly api: {
    readonly cache: CacheOperationsPorts
    readonly storeState?: (() => CacheStoreState) | undefined
    readonly recheckInterval?: () => number
  }
  readonly audit: Pick<Audit, 'state'>
  readonly traces: Pick<Traces, 'counts'> | undefined
  readonly webhook: Pick<Webhook, 'counts'>
  readonly certificates: Certificates
  /** Whether histograms name sampled traces. */
  readonly exemplars: boolean
  readonly capacity: CapacityMonitor
  ready(): Readiness
  problems(): readonly Problem[]
  reload(): ReloadStatus
}

export function buildMetrics({
  name,
  events,
  requests,
  cluster,
  api,
  audit,
  traces,
  webhook,
  ...state
}: MetricsParts): Metrics {
  const { cache, storeState } = api
  const { certificates, exemplars, capacity, ready, problems, reload } = state
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    events,
    requests,
    version,
    commit,
    exemplars,
    replica: name,
    groups: [...groups].sort(),
    storeEvents: STORE_EVENTS,
    redis: cache.sharedThroughRedis,
    ...(storeState && { store: storeState }),
    redisCapacity: () => capacity.current().redis ?? {},
    snapshots: () => cache.snapshots?.() ?? [],
    ...(api.recheckInterval && { recheckInterval: api.recheckInterval }),
    audit: audit.state,
    ...(traces && { spans: traces.counts }),
    webhook: webhook.counts,
    ready: () => ready().ok,
    degraded: () => {
      const found = problems()
      return DEGRADATION_REASONS.map((reason) => [reason, found.some(({ kind }) => kind === reason)])
    },
    reload,
    certificates: certificates.current,
    nodes: () =>
      cluster.status().map(({ name, type, inFlight, limit, slots, queue, budget, ejectedUntil, hangs, drain }) => ({
        name,
        type,
        inFlight,
        limit,
        slots,
        ...(budget && { budget }),
        queue,
        available: ejectedUntil === undefined && cluster.view.isAvailable(name),
        ejected: drain === undefined && ejectedUntil !== undefined,
        hangs: drain === undefined && hangs === true,
        drained: drain !== undefined,
        drainedWithoutEnd: drain === undefined || drain.until !== undefined ? 0 : secondsSince(drain.at),
      })),
  })
}

function secondsSince(at: number): number {
  return Math.max(0, Date.now() - at) / 1000
}

export type { Traces } from '../telemetry/traces/index.ts'

/**
 * Rejects if the file of headers cannot be read. Resolves to `undefined` without a collector; the modules of traces are
 * not loaded then.
 */
export async function buildTraces({ initial, current }: ReloadableConfig, log: Logger): Promise<Traces | undefined> {
  const { endpoint, headersFile } = initial.traces
  if (endpoint === undefined) return undefined
  const headers =
    headersFile === undefined ? {} : parseHeaders('traces', await readFile(headersFile, 'utf8'), headersFile)
  const { createTraces } = await import('../telemetry/traces/index.ts')
  return createTraces({ url: endpoint, headers, sampling: () => current().traces, version, log })
}

/** `traceparent` is used only from trusted proxies: any other client could have all its requests traced. */
export function createTraceStarter(settings: ProxySettings, traces: Traces): BeginTrace {
  const isTrusted = fromTrusted(settings)
  return ({ id, raw }) => {
    const { traceparent, tracestate } = raw.headers
    const isUsed = traceparent !== undefined && isTrusted({ raw })
    return traces.begin({
      id,
      method: methodLabel(raw.method),
      scheme: raw.socket instanceof TLSSocket ? 'https' : 'http',
      protocol: raw.httpVersion,
      ...(isUsed && { traceparent: headerText(traceparent), tracestate: headerText(tracestate) }),
    })
  }
}

/** `section`: the settings that name the file. */
function parseHeaders(section: string, text: string, file: string): Readonly<Record<string, string>> {
  const parsed = parseHeaderLines(text)
  if (!parsed.ok) throw new Error(`${section}.headersFile: ${file}:${parsed.line} ${parsed.message}`)
  return parsed.headers
}

export function buildWebhook({ current }: ReloadableConfig, log: Logger): Webhook {
  const section = 'operations.webhook'
  const parse = (text: string, file: string) => parseHeaders(section, text, file)
  return createWebhook({ target: () => current().operations.webhook, parseHeaders: parse, log })
}

/** Creates the audit with its file, or with the log if `audit.file` is not set. `flush`: writes the buffered log lines. */
export function buildAudit({ initial, current, onReload }: ReloadableConfig, log: Logger, flush: () => void): Audit {
  const { file } = initial.audit
  const replica = replicaNameOf(initial)
  const onFailure = () => current().audit.onFailure
  if (file !== undefined) {
    const onRotationFailure = ({ message }: Error) => log.warn({ fault: message }, 'audit file not rotated')
    const onUnlocked = (reason: string) => log.warn({ file, reason }, 'audit file not locked')
    const writing = () => current().audit
    const sink = createAuditFile({ file, replica, writing, onRotationFailure, onUnlocked })
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
