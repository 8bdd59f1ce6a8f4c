import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import { createAuditFile } from '../audit/file.ts'
import { type Audit, createAudit, createAuditLog } from '../audit/index.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { parseHeaderLines } from '../config/named-files.ts'
import { fromTrusted, headerText } from '../http/client-address.ts'
import type { BeginTrace } from '../http/request-state.ts'
import { groupOf, methodLabel } from '../http/request-state.ts'
import { STORE_EVENTS, type StoreEvent } from '../redis/options.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import type { Traces } from '../telemetry/traces/index.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Front } from './front.ts'
import { version } from './package.ts'

/** What a Prometheus may scrape of this edge. */

export interface MetricsParts {
  readonly events: EdgeEvents
  readonly cluster: Cluster
  readonly front: Pick<Front, 'kept' | 'state'>
  readonly audit: Pick<Audit, 'state'>
  readonly traces: Pick<Traces, 'counts'> | undefined
  ready(): { readonly ok: boolean }
}

export function buildMetrics({ events, cluster, front, audit, traces, ready }: MetricsParts): Metrics {
  const { kept, state } = front
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    events,
    version,
    groups: [...groups].sort(),
    storeEvents: STORE_EVENTS,
    redis: kept.sharedThroughRedis,
    ...(state && { store: state }),
    audit: audit.state,
    ...(traces && { spans: traces.counts }),
    ready: () => ready().ok,
    nodes: () =>
      cluster.status().map(({ name, type, inFlight, limit, queue, ejectedUntil }) => ({
        name,
        type,
        inFlight,
        limit,
        queue,
        available: cluster.view.isAvailable(name),
        ejected: ejectedUntil !== undefined,
      })),
  })
}

export type { Traces } from '../telemetry/traces/index.ts'

/** Traces as the settings describe them. Without a collector nothing of them is loaded. */

/** Rejects when the file of headers cannot be read. `undefined`: nothing is traced. */
export async function buildTraces({ traces }: Config, log: Logger): Promise<Traces | undefined> {
  const { endpoint, headersFile, share, perSecond } = traces
  if (endpoint === undefined) return undefined
  const headers = await headersIn(headersFile)
  const { createTraces } = await import('../telemetry/traces/index.ts')
  return createTraces({ url: endpoint, headers, share, perSecond, version, log })
}

/** A `traceparent` of just anybody is not believed: it could have everything traced. */
export function beginning({ listen }: Config, traces: Traces): BeginTrace {
  const isTrusted = fromTrusted(listen.trustedProxies)
  return ({ id, raw }) => {
    const { traceparent, tracestate } = raw.headers
    const believed = traceparent !== undefined && isTrusted({ raw })
    return traces.begin({
      id,
      method: methodLabel(raw.method),
      scheme: raw.socket instanceof TLSSocket ? 'https' : 'http',
      protocol: raw.httpVersion,
      ...(believed && { traceparent: headerText(traceparent), tracestate: headerText(tracestate) }),
    })
  }
}

async function headersIn(file: string | undefined): Promise<Readonly<Record<string, string>>> {
  if (file === undefined) return {}
  const read = parseHeaderLines(await readFile(file, 'utf8'))
  if (!read.ok) throw new Error(`traces.headersFile: ${file}:${read.line} ${read.message}`)
  return read.headers
}

/** What the cache's store last said of itself, for those who look after it. */

export interface StoreNews {
  heard(event: StoreEvent, reason?: string): void
  standing(): {
    /** Redis does not answer. */
    readonly away: boolean
    readonly lastEvent?: { readonly event: StoreEvent; readonly reason?: string; readonly ago: number }
  }
}

export function createStoreNews(): StoreNews {
  let away = false
  let last: { readonly event: StoreEvent; readonly reason?: string; readonly at: number } | undefined
  return {
    heard(event, reason) {
      if (event === 'lost') away = true
      if (event === 'returned') away = false
      last = { event, ...(reason !== undefined && { reason }), at: performance.now() }
    },
    standing() {
      if (last === undefined) return { away }
      const { at, ...said } = last
      return { away, lastEvent: { ...said, ago: Math.round(performance.now() - at) } }
    },
  }
}

/** Creates the audit with its file, or with the log if `audit.file` is not set. */
export function buildAudit({ audit }: Config, log: Logger): Audit {
  const { file, onFailure, sync, rotateAt } = audit
  const replica = hostname()
  if (file !== undefined) {
    const onRotationFailure = ({ message }: Error) => log.warn({ fault: message }, 'audit file not rotated')
    const sink = createAuditFile({ file, replica, sync, rotateAt, onRotationFailure })
    return createAudit({ sink, onFailure, log })
  }
  // Audit records are written at every log level but `silent`, under a name that tells them apart.
  const auditLogger = log.child({ name: 'audit' }, { level: log.level === 'silent' ? 'silent' : 'info' })
  return createAudit({ sink: createAuditLog(replica, auditLogger), onFailure, log })
}
