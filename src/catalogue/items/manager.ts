/** Response schemas of nodes: facts, configuration, logs, statistics, and the cluster as a whole. */
import {
  anyOfTypes,
  boolean,
  fieldsOf,
  integer,
  list,
  map,
  number,
  object,
  type Schema,
  TIME,
  text,
  words,
} from './schema.ts'

const yesOrNo = words('yes', 'no')
const PRECISE_TIME = 'YYYY-MM-DD hh:mm:ss.ffffff, UTC; n/a before the first one.'

const week = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
const decoded = ['syscheck', 'syscollector', 'rootcheck', 'sca', 'hostinfo', 'winevt'] as const
const queues = [...decoded, 'event', 'rule_matching', 'alerts', 'firewall', 'statistical', 'archives'] as const
const analysisdCounters = [
  'total_events_decoded',
  ...decoded.flatMap((name) => [`${name}_events_decoded?`, `${name}_edps?`]),
  ...['other_events_decoded', 'other_events_edps?', 'events_processed', 'events_edps?', 'events_received'],
  ...['events_dropped', 'alerts_written', 'firewall_written', 'fts_written'],
  ...queues.flatMap((name) => [`${name}_queue_usage`, `${name}_queue_size`]),
]
const remotedCounters = ['queue_size', 'total_queue_size', 'tcp_sessions', 'evt_count', 'ctrl_msg_count']
const sentCounters = ['discarded_count', 'msg_sent?', 'recv_bytes', 'dequeued_after_close']

const between = { date_start_master: text(PRECISE_TIME), date_end_master: text(PRECISE_TIME) }
const syncOfWorker: Schema = object(
  {
    sync_integrity_free: boolean(),
    last_sync_integrity: object({
      ...between,
      total_files: object(fieldsOf(integer(), 'missing', 'extra', 'extra_valid', 'shared')),
    }),
    sync_agentinfo_free: boolean(),
    last_sync_agentinfo: object({ ...between, ...fieldsOf(integer(), 'total_agentinfo', 'total_agent_info?') }),
    sync_extravalid_free: boolean(),
    last_sync_agentgroups: object({ ...between, ...fieldsOf(integer(), 'total_agentgroups', 'total_extra_valid?') }),
    last_keep_alive: text(),
  },
  'Of workers only.',
)
const nodeFields = { name: text(), type: text('master or worker.'), version: text(), ip: text() }

export const managerItems = {
  ManagerInfo: object({
    ...fieldsOf(text(), 'path', 'version', 'compilation_date', 'type', 'max_agents', 'openssl_support'),
    name: text(),
    ...fieldsOf({ type: ['string', 'null'] }, 'ruleset_version', 'tz_offset', 'tz_name'),
    cluster: object({ enabled: yesOrNo, running: yesOrNo, ...fieldsOf(text(), 'name', 'node_name', 'node_type') }),
  }),
  DaemonStatus: map(text(), 'State by name of the daemon: running, stopped, starting, restarting or failed.'),
  LogEntry: object({
    timestamp: text(TIME),
    tag: text('Daemon or module.'),
    level: text('info, error, critical, warning or debug.'),
    description: text(),
  }),
  LogSummary: map(
    object(fieldsOf(integer(), 'all', 'info', 'error', 'critical', 'warning', 'debug')),
    'Number of entries by level, for each daemon or module.',
  ),
  ValidationResult: object({
    status: text('OK, or KO.'),
    'details?': list(text(), 'What is wrong. Absent if the status is OK.'),
  }),
  HourStats: object({
    hour: integer('0 to 23.'),
    alerts: list(object(fieldsOf(integer(), 'sigid', 'level', 'times'))),
    ...fieldsOf(integer(), 'totalAlerts', 'events', 'syscheck', 'firewall'),
  }),
  HourlyAverages: object({
    averages: list(integer(), 'Events of each hour of the day.'),
    interactions: integer('Number of days.'),
  }),
  WeeklyAverages: object(
    fieldsOf(
      object({ hours: list(integer(), 'Events of each hour of the day.'), interactions: integer('Number of days.') }),
      ...week,
    ),
  ),
  AnalysisdStats: object(fieldsOf(number(), ...analysisdCounters), 'Counters. A usage is a fraction of its size.'),
  RemotedStats: object(
    fieldsOf(number(), ...remotedCounters, ...sentCounters),
    'Counters, recv_bytes in bytes, and lengths of queues.',
  ),
  Configuration: anyOfTypes(
    'The configuration as the manager returns it: by section, in its own form.',
    'object',
    'array',
  ),
  FileContents: text('The contents of the file.'),
  ClusterConfiguration: object({
    ...fieldsOf(text(), 'name', 'node_name', 'node_type'),
    key: text('The key of the cluster. A secret.'),
    port: integer(),
    bind_addr: text(),
    nodes: list(text()),
    hidden: text(),
    disabled: boolean(),
  }),
  ClusterStatus: object({ enabled: yesOrNo, running: yesOrNo }),
  ClusterHealth: object({
    n_connected_nodes: integer(),
    nodes: map(
      object({ info: object({ ...nodeFields, n_active_agents: integer() }), 'status?': syncOfWorker }),
      'By name of the node.',
    ),
  }),
  LocalNode: object({ node: text(), cluster: text(), type: text('master or worker.') }),
  Node: object(nodeFields),
  Welcome: object({ msg: text(), api_version: text(), hostname: text(), timestamp: text() }),
  Version: text('v and three numbers with dots.'),
  Message: text('A sentence in English.'),
  Token: object({ token: text('A Bearer token (JWT). A secret.') }),
} as const

/** The fields of a node that the edge adds to each item of a joined response. */
export const ofNode = { node_name: text('The node that returned the item.') } as const
export const ofAgent = { agent_id: text('The agent that the item belongs to.') } as const
