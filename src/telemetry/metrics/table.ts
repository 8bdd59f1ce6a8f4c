/**
 * All metrics, one row each. Event series count what the emitter (`telemetry/events.ts`) reports; state series, among them
 * the counts of requests, are read when Prometheus scrapes. A new counter is one row here, and an event if there is none.
 *
 * Label values are bounded: names of the catalogue and of the settings, numbers and closed sets of words. No label takes
 * a value that a client chooses. Over 200 lines: a table of all metrics.
 */

import { CACHE_OUTCOMES, type LocalState, type RedisMemory, type SnapshotState } from '../../core/cache.ts'
import {
  type CacheEvent,
  type EventListeners,
  FAILED_LOGIN_REASONS,
  INVALIDATION_CAUSES,
  SNAPSHOT_REFUSALS,
  STORE_EVENTS,
  type StoreEvent,
  wasSent,
} from '../../core/events.ts'
import { faultRules, type NodeFault } from '../../core/node-faults.ts'
import type { NodeLoad } from '../../core/node-load.ts'
import type { CertificateState, ReloadStatus } from '../../core/settings.ts'
import { durationsOf, REQUEST_SECONDS, type RequestCell, type RequestCounts } from '../events.ts'
import type { HistogramCounts, LabelValue } from './read-histogram.ts'

/** What the state series read at each scrape, and the label values that exist from the start. */
export interface MetricsSources {
  readonly version: string
  /** Of the sources; empty if it is not known. */
  readonly commit: string
  /** The name of this replica. */
  readonly replica: string
  readonly groups: readonly string[]
  readonly requests: Pick<RequestCounts, 'cells'>
  /** Whether the cache store is Redis. */
  readonly redis: boolean
  ready(): boolean
  /** Everything that can be degraded, and whether it is. */
  degraded(): readonly (readonly [reason: string, isDegraded: boolean])[]
  reload(): ReloadStatus
  certificates(): readonly CertificateState[]
  nodes(): readonly NodeSample[]
  /** Absent if nothing is cached. */
  readonly store?: () => { readonly up: boolean; readonly local: LocalState }
  /** The memory of Redis, and the stored responses there. Empty: Redis has not replied. */
  redisCapacity(): { readonly memory?: RedisMemory; readonly entries?: number }
  /** The snapshots whose rows this process has. */
  snapshots(): readonly SnapshotState[]
  /** Returns the milliseconds after which tokens of the manager's users are checked again. Absent: there are none. */
  readonly recheckInterval?: () => number
  /** Audit records written, and records that could not be written. */
  audit(): { readonly records: number; readonly failures: number }
  /** Spans that the collector accepted, and spans that were lost; absent if traces are off. */
  spans?(): { readonly sent: number; readonly dropped: number }
}

interface NodeSample extends NodeLoad {
  /** Milliseconds until its next probe. Absent: it is not ejected. */
  readonly ejectedFor?: number
  /** Whether its queue has room, and it is not ejected for all calls. */
  readonly isAvailable: boolean
  readonly hangs?: boolean
  /** When an operator has drained it for maintenance, and until when; in milliseconds since 1970. */
  readonly drain?: { readonly at: number; readonly until?: number }
}

interface Events {
  readonly nodeCall: Parameters<Required<EventListeners>['nodeCall']>[0]
  readonly failedLogin: { readonly reason: Parameters<Required<EventListeners>['failedLogin']>[0] }
  readonly redisStep: Parameters<Required<EventListeners>['redisStep']>[0]
  readonly storeEvent: { readonly event: StoreEvent }
  readonly uncaughtConnectionError: string
}

/** Names of events. The name of a cache event contains its kind. */
type EventName = keyof Events | `cache.${CacheEvent['kind']}`

type EventOf<Name extends EventName> = Name extends keyof Events
  ? Events[Name]
  : Name extends `cache.${infer Kind}`
    ? Extract<CacheEvent, { kind: Kind }>
    : never

interface EventRow<Event> {
  readonly name: string
  readonly help: string
  /** The field of the event with the value of each label. A value that is absent is an empty text. */
  readonly labels: Readonly<Record<string, keyof Event & string>>
  /**
   * Closed sets of label values. Their series exist from the start with 0; if one label is not listed here, they exist
   * from the first event with a new value of that label.
   */
  readonly known?: (sources: MetricsSources) => Readonly<Record<string, readonly LabelValue[]>>
  /** What one event adds or observes; 1 if absent. `undefined`: the event does not count. */
  readonly value?: (event: Event) => number | undefined
  /** Whether the series exists; true if absent. */
  readonly when?: (sources: MetricsSources) => boolean
}

/** What a row may state besides: upper bounds in seconds if it is a histogram, else it is a counter. */
interface EventSeriesKind {
  readonly buckets?: readonly number[]
}

export type EventSeries = EventRow<never> & EventSeriesKind & { readonly on: EventName }

interface StateRow {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  readonly when?: (sources: MetricsSources) => boolean
}

type Samples = readonly (readonly [Readonly<Record<string, LabelValue>>, number])[]

/**
 * Returns one value, or all values with their labels: a label set that is not returned disappears, and the values of a counter
 * with the same labels are added.
 */
type ReadState = (sources: MetricsSources) => number | Samples

export type StateSeries =
  | (StateRow & { readonly type: 'gauge' | 'counter'; readonly read: ReadState })
  | (StateRow & {
      readonly type: 'histogram'
      readonly buckets: readonly number[]
      readonly read: (sources: MetricsSources) => readonly HistogramCounts[]
    })

function on<Name extends EventName>(name: Name, row: EventRow<EventOf<Name>> & EventSeriesKind): EventSeries {
  return { on: name, ...row }
}

/** The group of requests to endpoints that are not cached. */
const NO_GROUP = 'none'

const NODE_CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 20]
const REDIS_SECONDS = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1]

const perGroup = ({ groups }: MetricsSources) => ({ group: groups })
const isRedis = ({ redis }: MetricsSources) => redis

export const eventSeries: readonly EventSeries[] = [
  // Without the route: routes times nodes would be thousands of histograms.
  on('nodeCall', {
    name: 'http_client_request_duration_seconds',
    help: 'Duration of HTTP client requests: calls to nodes, without the time in the queue.',
    labels: {
      http_request_method: 'method',
      server_address: 'node',
      http_response_status_code: 'status',
      error_type: 'fault',
    },
    value: (call) => (wasSent(call) ? call.ms / 1000 : undefined),
    buckets: NODE_CALL_SECONDS,
  }),
  on('nodeCall', {
    name: 'edge_node_wait_duration_seconds',
    help: 'Time that calls waited in the queue of their node.',
    labels: { node: 'node' },
    value: ({ queueTime }) => queueTime / 1000,
    buckets: QUEUE_SECONDS,
  }),
  on('nodeCall', {
    name: 'edge_node_refused_total',
    help: 'Calls that were not sent: node at its limit, ejected, drained or without logins, or the client disconnected.',
    labels: { node: 'node', reason: 'fault' },
    known: () => ({ reason: Object.keys(faultRules).filter((fault) => !wasSent({ fault: fault as NodeFault })) }),
    value: (call) => (wasSent(call) ? undefined : 1),
  }),
  on('cache.fetch', {
    name: 'edge_cache_fetches_total',
    help: 'Fetches of responses that may be stored; stored, notStorable, or failed: there was no response.',
    labels: { group: 'group', outcome: 'outcome' },
    known: (sources) => ({ ...perGroup(sources), outcome: ['stored', 'notStorable', 'failed'] }),
  }),
  on('cache.fetch', {
    name: 'edge_cache_fetch_seconds_total',
    help: 'Time in which nodes answered these fetches.',
    labels: { group: 'group' },
    known: perGroup,
    value: ({ ms }) => ms / 1000,
  }),
  on('cache.collapsed', {
    name: 'edge_cache_collapsed_total',
    help: 'Requests that were collapsed: they waited for an identical fetch in flight.',
    labels: { group: 'group' },
    known: perGroup,
  }),
  on('cache.invalidated', {
    name: 'edge_cache_invalidations_total',
    help: 'Writes and purges that invalidated stored responses.',
    labels: { cause: 'cause' },
    known: () => ({ cause: INVALIDATION_CAUSES }),
  }),
  on('cache.verified', {
    name: 'edge_cache_verified_total',
    help: 'Hits that were compared with a fresh response; inconclusive: a write or a failure prevented the comparison.',
    labels: { group: 'group', outcome: 'outcome' },
    known: (sources) => ({ ...perGroup(sources), outcome: ['same', 'different', 'inconclusive'] }),
  }),
  on('cache.trial', {
    name: 'edge_cache_trial_total',
    help: 'Reads during a trial: what the cache would have done, and its response compared with that of the manager.',
    labels: { group: 'group', cache: 'cache', comparison: 'comparison' },
  }),
  on('cache.snapshotQuery', {
    name: 'edge_cache_snapshot_queries_total',
    help: 'Requests that were answered from a snapshot of their collection; each saved one call.',
    labels: { group: 'group' },
    known: perGroup,
  }),
  on('cache.snapshotBuild', {
    name: 'edge_cache_snapshot_builds_total',
    help: 'Builds of snapshots; built, failed, or why the collection has none.',
    labels: { group: 'group', outcome: 'outcome' },
    known: () => ({ outcome: ['built', 'failed', ...SNAPSHOT_REFUSALS] }),
  }),
  on('cache.snapshotBuild', {
    name: 'edge_cache_snapshot_build_calls_total',
    help: 'Calls to nodes for these builds.',
    labels: { group: 'group' },
    known: perGroup,
    value: ({ calls }) => calls,
  }),
  on('failedLogin', {
    name: 'edge_failed_logins_total',
    help: 'Logins with name and password that were rejected; blocked: after too many failures, busy: too many at once.',
    labels: { reason: 'reason' },
    known: () => ({ reason: FAILED_LOGIN_REASONS }),
  }),
  on('redisStep', {
    name: 'edge_redis_step_duration_seconds',
    help: 'Duration of Redis steps; timeout: longer than cache.redis.timeout, unreachable: there was no connection.',
    labels: { outcome: 'outcome' },
    known: () => ({ outcome: ['done', 'failed', 'timeout', 'unreachable'] }),
    value: ({ ms }) => ms / 1000,
    buckets: REDIS_SECONDS,
    when: isRedis,
  }),
  on('storeEvent', {
    name: 'edge_redis_events_total',
    help: 'Events of the Redis store, such as a lost connection (unreachable) and its recovery (reachable).',
    labels: { event: 'event' },
    known: () => ({ event: STORE_EVENTS }),
    when: isRedis,
  }),
  on('uncaughtConnectionError', {
    name: 'edge_uncaught_connection_errors_total',
    help: 'Errors of single connections that no code had handled. The process went on; each is a defect.',
    labels: {},
    known: () => ({}),
  }),
]

const hasSpans = ({ spans }: MetricsSources) => spans !== undefined

export const stateSeries: readonly StateSeries[] = [
  {
    type: 'histogram',
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests, from the request header to the end of the response.',
    buckets: REQUEST_SECONDS,
    read: ({ requests }) =>
      requests.cells.map((cell) => ({
        labels: {
          http_request_method: cell.method,
          http_route: cell.route,
          // 0: the client disconnected before there was a response.
          http_response_status_code: cell.status === 0 ? 'none' : cell.status,
        },
        ...durationsOf(cell),
      })),
  },
  counter(
    'edge_cache_requests_total',
    'Requests by cache group and cache outcome; their sum is all requests.',
    ({ requests, groups }) => [
      ...[...groups, NO_GROUP].flatMap((group) => CACHE_OUTCOMES.map((status) => [{ group, status }, 0] as const)),
      ...requests.cells.map(({ group, cache: status, requests }) => [{ group, status }, requests] as const),
    ],
    { labels: ['group', 'status'] },
  ),
  ofRequests('edge_sent_bytes_total', 'Bytes of response bodies sent to clients.', ({ bytes }) => bytes),
  ofRequests(
    'edge_cache_saved_seconds_total',
    'Time in which nodes produced the responses that were served from the cache.',
    ({ fetchTime }) => fetchTime / 1000,
  ),
  gauge('edge_ready', '1: the edge accepts requests.', ({ ready }) => Number(ready())),
  gauge(
    'edge_degraded',
    '1: the edge may be ready, but this does not work; GET /readyz?verbose has details.',
    ({ degraded }) => degraded().map(([reason, isDegraded]) => [{ reason }, Number(isDegraded)]),
    { labels: ['reason'] },
  ),
  gauge(
    'edge_config_reload_success',
    '0: the latest reload of the configuration failed, and the last valid one is in use.',
    ({ reload }) => Number(reload().fault === undefined),
  ),
  gauge(
    'edge_config_reload_timestamp_seconds',
    'When a configuration was last put to use.',
    ({ reload }) => reload().succeededAt / 1000,
  ),
  counter(
    'edge_config_reloads_total',
    'Reloads that changed the configuration, and reloads that failed; the same fault is counted once.',
    ({ reload }) => Object.entries(reload().counts).map(([outcome, count]) => [{ outcome }, count]),
    { labels: ['outcome'] },
  ),
  gauge(
    'edge_certificate_expiry_timestamp_seconds',
    'When the certificate of this setting ends; of a file of authorities, when its last one ends.',
    ({ certificates }) => certificates().map(({ setting, validTo }) => [{ setting }, validTo / 1000]),
    { labels: ['setting'] },
  ),
  gauge(
    'edge_config_pending_restart',
    'Changed settings that take effect after a restart only.',
    ({ reload }) => reload().pendingRestart.length,
  ),
  gauge(
    'edge_cache_local_bytes',
    'Bytes of stored responses in the local tier of this replica.',
    ({ store }) => store?.().local.bytes ?? 0,
  ),
  gauge(
    'edge_cache_local_entries',
    'Stored responses in the local tier of this replica.',
    ({ store }) => store?.().local.entries ?? 0,
  ),
  gauge('edge_cache_local_limit_bytes', 'Limit of edge_cache_local_bytes.', ({ store }) => store?.().local.limit ?? 0),
  counter(
    'edge_cache_local_evictions_total',
    'Stored responses that left the local tier, by reason: limit (of its bytes), expired, invalidated, replaced.',
    ({ store }) => Object.entries(store?.().local.evictions ?? {}).map(([reason, count]) => [{ reason }, count]),
    { labels: ['reason'] },
  ),
  ofSnapshots('edge_cache_snapshots', 'Snapshots of collections in the memory of this replica.', () => 1),
  ofSnapshots('edge_cache_snapshot_rows', 'Rows of these snapshots.', ({ rows }) => rows),
  ofSnapshots('edge_cache_snapshot_bytes', 'Bytes of these rows, as text.', ({ bytes }) => bytes),
  gauge(
    'edge_redis_up',
    '0: Redis is unreachable, and responses stored there are not served.',
    ({ store }) => Number(store?.().up ?? false),
    { when: ({ redis, store }) => redis && store !== undefined },
  ),
  ofRedis(
    'gauge',
    'edge_redis_memory_bytes',
    'Used memory of Redis; of a Redis Cluster, of all primaries.',
    ({ memory }) => (memory ? [[{}, memory.bytes]] : []),
  ),
  ofRedis(
    'gauge',
    'edge_redis_memory_limit_bytes',
    'maxmemory of Redis with its eviction policy; absent without a limit.',
    ({ memory }) => (memory?.limit === undefined ? [] : [[{ policy: memory.policy }, memory.limit]]),
    ['policy'],
  ),
  ofRedis(
    'counter',
    'edge_redis_evictions_total',
    'Keys that Redis has removed since it started, by reason: limit (maxmemory), expired.',
    ({ memory }) => Object.entries(memory?.evictions ?? {}).map(([reason, count]) => [{ reason }, count]),
    ['reason'],
  ),
  ofRedis('gauge', 'edge_redis_entries', 'Stored responses in Redis, of all replicas.', ({ entries }) =>
    entries === undefined ? [] : [[{}, entries]],
  ),
  gauge(
    'edge_build_info',
    'The running release with its commit, and the name of this replica.',
    ({ version, commit, replica }) => [[{ version, commit, replica }, 1]],
    { labels: ['version', 'commit', 'replica'] },
  ),
  perNode('edge_node_in_flight', 'Calls in flight on the node.', ({ inFlight }) => inFlight),
  perNode('edge_node_limit', 'Current limit of concurrent calls of all replicas to the node.', ({ limit }) => limit),
  perNode('edge_node_slots', 'Slots of the limit of the node that this replica may use now.', ({ slots }) => slots),
  perNode('edge_node_queue', 'Calls in the queue of the node.', ({ queue }) => queue),
  // All replicas share the count and the limit.
  perNode(
    'edge_node_budget_used',
    'Calls of the last minute to the node, of all replicas; for nodes with a limit per minute.',
    ({ budget }) => budget?.used,
  ),
  perNode('edge_node_budget_limit', 'Calls per minute that the node answers.', ({ budget }) => budget?.limit),
  perNode('edge_node_available', '1: calls may be sent to the node.', ({ ejectedFor, isAvailable }) =>
    Number(ejectedFor === undefined && isAvailable),
  ),
  perNode('edge_node_hangs', '1: the node accepts calls and does not answer them.', ({ drain, hangs = false }) =>
    Number(drain === undefined && hangs),
  ),
  perNode('edge_node_ejected', '1: the node is ejected after failures.', ({ drain, ejectedFor }) =>
    Number(drain === undefined && ejectedFor !== undefined),
  ),
  perNode('edge_node_drained', '1: an operator has drained the node for maintenance.', ({ drain }) =>
    Number(drain !== undefined),
  ),
  perNode(
    'edge_node_drained_without_end_seconds',
    'Time since an operator has drained the node without an end; 0: not drained, or until an end.',
    ({ drain }) => (drain === undefined || drain.until !== undefined ? 0 : Math.max(0, Date.now() - drain.at) / 1000),
  ),
  gauge(
    'edge_token_recheck_seconds',
    'Time after which the manager checks an accepted token of one of its users again; access.tokens.recheck unless many users are in use.',
    ({ recheckInterval }) => (recheckInterval?.() ?? 0) / 1000,
    { when: ({ recheckInterval }) => recheckInterval !== undefined },
  ),
  counter('edge_audit_records_total', 'Audit records written.', ({ audit }) => audit().records),
  counter('edge_audit_failures_total', 'Audit records that could not be written.', ({ audit }) => audit().failures),
  counter('edge_trace_spans_sent_total', 'Spans that the collector accepted.', ({ spans }) => spans?.().sent ?? 0, {
    when: hasSpans,
  }),
  counter(
    'edge_trace_spans_dropped_total',
    'Spans that the collector did not accept, or that exceeded the buffer.',
    ({ spans }) => spans?.().dropped ?? 0,
    { when: hasSpans },
  ),
]

type StateOptions = Omit<StateRow, 'name' | 'help'>

function gauge(name: string, help: string, read: ReadState, options: StateOptions = {}): StateSeries {
  return { type: 'gauge', name, help, read, ...options }
}

function counter(name: string, help: string, read: ReadState, options: StateOptions = {}): StateSeries {
  return { type: 'counter', name, help, read, ...options }
}

function ofRequests(name: string, help: string, amountOf: (cell: RequestCell) => number): StateSeries {
  const read = ({ requests, groups }: MetricsSources): Samples => [
    ...[...groups, NO_GROUP].map((group) => [{ group }, 0] as const),
    ...requests.cells.map((cell) => [{ group: cell.group }, amountOf(cell)] as const),
  ]
  return counter(name, help, read, { labels: ['group'] })
}

function ofSnapshots(name: string, help: string, amountOf: (snapshot: SnapshotState) => number): StateSeries {
  return gauge(name, help, ({ snapshots }) => snapshots().reduce((sum, snapshot) => sum + amountOf(snapshot), 0))
}

function ofRedis(
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  valuesOf: (capacity: ReturnType<MetricsSources['redisCapacity']>) => Samples | number,
  labels: readonly string[] = [],
): StateSeries {
  const read = ({ redisCapacity }: MetricsSources) => valuesOf(redisCapacity())
  return { type, name, help, labels, read, when: isRedis }
}

/** `value` returns `undefined` for a node without such a value. */
function perNode(name: string, help: string, value: (node: NodeSample) => number | undefined): StateSeries {
  const read = ({ nodes }: MetricsSources) =>
    nodes().flatMap((node) => {
      const sample = value(node)
      return sample === undefined ? [] : [[{ node: node.name, type: node.type }, sample] as const]
    })
  return gauge(name, help, read, { labels: ['node', 'type'] })
}
