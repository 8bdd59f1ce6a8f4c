/** The shape of the v3 `data` of each endpoint, and how its rows are made (measured). */

import type { CodeMeaning } from './oracle-errors.ts'
import {
  agentRow,
  allAgentsRow,
  ciscatRow,
  countersRow,
  distinctRow,
  inventoryRow,
  isRow,
  lastScanRow,
  listFileRow,
  listRow,
  logRow,
  type Row,
  type RowChange,
  rootcheckRow,
  rulesetRow,
  scaCheckRow,
  scaRow,
  selected,
  syscheckRow,
  v3Daemon,
  v3Date,
} from './oracle-values.ts'
import type { V3Request } from './v3-request.ts'

type MakeRow = (item: unknown, request: V3Request) => unknown

/** The message of the node, and the code of its first failed item. */
export interface NodeOutcome {
  readonly message: string
  readonly code: number | undefined
}

export type Shape =
  /** `countsPage`: the total is the number of the returned rows. */
  | { readonly kind: 'collection'; readonly row: MakeRow; readonly countsPage?: true }
  /** Rows of several agents, of each of which the node returns a page: the edge returns one page of all. */
  | { readonly kind: 'pages'; readonly row: MakeRow }
  | { readonly kind: 'one'; readonly row: MakeRow; readonly missing?: CodeMeaning }
  | {
      readonly kind: 'data'
      readonly of: (data: unknown, request: V3Request, text?: string, user?: string) => unknown
    }
  /** Lists whose order does not count. */
  | { readonly kind: 'counts'; readonly of: (data: unknown, user: string) => Row }
  | { readonly kind: 'text'; readonly text: (request: V3Request, outcome: NodeOutcome) => RegExp }
  | {
      readonly kind: 'affected'
      readonly all: string
      readonly some: string
      /** The message if nothing was asked for. */
      readonly none?: string
      readonly list?: string
      /** Failed ids are listed without their errors. */
      readonly plain?: true
    }
  | { readonly kind: 'file' }

const same: MakeRow = (item) => item
const items = (data: unknown): readonly unknown[] => (data as { affected_items: readonly unknown[] }).affected_items

/** Rows with the selected fields, and fields that are always there. */
function rows(change: RowChange, ...always: readonly string[]): MakeRow {
  return (item, { query: { select } }) => {
    const row = change(item as Row)
    return typeof select === 'string' ? selected(row, [...select.split(',').map(nested), ...always]) : row
  }
}

const INVENTORY = /^(?:scan|os|ram|cpu|local|remote|tx|rx)_/
/** The v3 inventory selects `cpu_cores` and answers `{cpu: {cores}}`. */
const nested = (name: string) => (INVENTORY.test(name) ? name.replace('_', '.') : name)

const list = (change: RowChange, ...always: readonly string[]) => ({
  kind: 'collection' as const,
  row: rows(change, ...always),
})
const pages = (change: RowChange): Shape => ({ kind: 'pages', row: rows(change, 'agent_id') })
const texts: Shape = { kind: 'collection', row: same }
const catalogue = (field: string): Shape => ({ kind: 'collection', row: (item) => (item as Row)[field] })
const one = (row: MakeRow): Shape => ({ kind: 'one', row })
const field = (name: string): Shape => one((item) => (item as Row)[name])
const bare: Shape = { kind: 'data', of: (data) => data }
const text = (pattern: RegExp | ((request: V3Request, outcome: NodeOutcome) => string)): Shape => ({
  kind: 'text',
  text: (request, outcome) =>
    typeof pattern === 'function' ? new RegExp(`^${pattern(request, outcome).replaceAll('.', '\\.')}$`) : pattern,
})
const merged = (change: (name: string) => string): Shape => ({
  kind: 'data',
  of: (data) =>
    Object.fromEntries(
      items(data).flatMap((item) => Object.entries(item as Row).map(([name, value]) => [change(name), value])),
    ),
})

const unwrapped = (data: unknown) => {
  const { affected_items, total_affected_items } = data as Row
  return { items: affected_items, totalItems: total_affected_items }
}
const unwrappedList: Shape = { kind: 'data', of: unwrapped }

/** Of group files: the parsed agent.conf is a list, others are as they are; XML is a text without line feeds. */
const groupFile: Shape = {
  kind: 'data',
  of: (data, _, text) => {
    if (data === undefined) return text?.replaceAll('\n', '')
    return isRow(data) && 'affected_items' in data ? unwrapped(data) : data
  },
}

const status: Shape = one((item) =>
  Object.fromEntries(
    Object.entries(item as Row)
      .filter(([name]) => name !== 'wazuh-apid')
      .map(([name, state]) => [v3Daemon(name), state]),
  ),
)

const verdict: Shape = one((item) => ({ status: (item as Row).status }))

const verdicts: Shape = {
  kind: 'data',
  of: (data) => ({ status: items(data).every((item) => (item as Row).status === 'OK') ? 'OK' : 'KO' }),
}

/** The recorded users who may not read agent 000: the node denies it to them by name (403, 4000). */
export const WITHOUT_MANAGER: ReadonlySet<string> = new Set(['only001', 'nobody'])

/** The v4 layout does not count agent 000, which is active. The v3 one counts what the user may see. */
const summary = (connection: unknown, user: string): Row => {
  const { total, active, disconnected, never_connected, pending } = connection as Record<string, number>
  const own = WITHOUT_MANAGER.has(user) ? 0 : 1
  return {
    Total: Number(total) + own,
    Active: Number(active) + own,
    Disconnected: disconnected,
    'Never connected': never_connected,
    Pending: pending,
  }
}

/** The name and the cluster come from other calls; the version of the rules has the digits of the release. */
const info: Shape = {
  kind: 'data',
  of: (data, { params: { node_id = 'master' } }) => {
    const { compilation_date, version, ...same } = items(data)[0] as Row
    const node_type = node_id === 'master' ? 'master' : 'worker'
    return {
      ...same,
      version,
      compilation_date: shellDate(String(compilation_date)),
      ruleset_version: String(version).replace(/\D/g, ''),
      name: node_id,
      cluster: { enabled: 'yes', running: 'yes', name: 'wazuh', node_name: node_id, node_type },
    }
  },
}

/** As the shell prints a date: `Mon Feb 24 14:53:16 UTC 2020`. */
function shellDate(iso: string): string {
  const date = new Date(iso)
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options }).format(date)
  const day = String(date.getUTCDate()).padStart(2)
  const time = date.toISOString().slice(11, 19)
  return `${part({ weekday: 'short' })} ${part({ month: 'short' })} ${day} ${time} UTC ${date.getUTCFullYear()}`
}

const healthcheck: Shape = {
  kind: 'data',
  of: (data) => {
    const nodes = items(data) as readonly { readonly info: Row; readonly status?: Record<string, Row> }[]
    return {
      n_connected_nodes: nodes.filter(({ info: { type } }) => type === 'worker').length,
      nodes: Object.fromEntries(
        nodes.map(({ info: node, status: state }) => [
          node.name,
          { info: node, ...(state && { status: stateOf(state) }) },
        ]),
      ),
    }
  },
}

function stateOf(state: Record<string, Row>): Row {
  const { last_sync_integrity, last_sync_agentinfo, last_sync_agentgroup } = state
  const { total_files, total_extra_valid, ...integrity } = last_sync_integrity as Row & { total_files: Row }
  return {
    sync_integrity_free: state.sync_integrity_free,
    last_sync_integrity: {
      ...datesOf(integrity),
      total_files: { ...total_files, extra_valid: total_files.extra_valid ?? total_extra_valid },
    },
    sync_agentinfo_free: state.sync_agent_info_free,
    last_sync_agentinfo: {
      ...datesOf(last_sync_agentinfo ?? {}),
      total_agentinfo: last_sync_agentinfo?.n_synced_chunks,
    },
    sync_extravalid_free: true,
    last_sync_agentgroups: {
      date_start_master: v3Date(last_sync_agentgroup?.date_start),
      date_end_master: v3Date(last_sync_agentgroup?.date_end),
      total_agentgroups: last_sync_agentgroup?.n_synced_chunks,
    },
    last_keep_alive: v3Date(state.last_keep_alive),
  }
}

const datesOf = ({ date_start_master, date_end_master }: Row): Row => ({
  date_start_master: v3Date(date_start_master),
  date_end_master: v3Date(date_end_master),
})

interface Counted extends Row {
  readonly count: number
}

/** Agent 000 of the recorded cluster, which `/overview/agents` does not count and another call returns. */
const MANAGER = {
  node_name: 'master',
  os: { name: 'Debian GNU/Linux', platform: 'debian', version: '11' },
  version: 'Wazuh v4.5.4',
}

/** Counts with agent 000, and without the word for what agents lack. The total is the number of agents. */
function counted(rows: readonly Counted[], name: keyof typeof MANAGER, user: string): Row {
  if (WITHOUT_MANAGER.has(user)) return totalled(rows.map((row) => ({ ...distinctRow(row), count: row.count })))
  const wanted = JSON.stringify(MANAGER[name])
  const sameAs = ({ [name]: value }: Counted) => JSON.stringify(isRow(value) ? inOrder(value) : value) === wanted
  const others = rows.some(sameAs) ? [] : [{ [name]: MANAGER[name], count: 0 }]
  return totalled(
    [...rows, ...others].map((row) => ({ ...distinctRow(row), count: row.count + (sameAs(row) ? 1 : 0) })),
  )
}

function totalled(items: readonly Counted[]): Row {
  return { items: byText(items), totalItems: items.reduce((sum, { count }) => sum + count, 0) }
}

const inOrder = (row: Row): Row => Object.fromEntries(Object.entries(row).sort(([a], [b]) => a.localeCompare(b)))
/** The order of the rows is not part of the contract. */
const byText = <T extends Row>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => JSON.stringify(inOrder(a)).localeCompare(JSON.stringify(inOrder(b))))

const overview: Shape = {
  kind: 'counts',
  of: (data, user) => {
    const { nodes, groups, agent_os, agent_version, last_registered_agent: last, agent_status } = data as Overview
    const [agent] = last
    return {
      nodes: counted(nodes, 'node_name', user),
      groups: { items: byText(groups), totalItems: groups.length },
      agent_os: counted(agent_os, 'os', user),
      agent_status: summary(agent_status.connection, user),
      agent_version: counted(agent_version, 'version', user),
      last_registered_agent: agent === undefined ? {} : agentRow(agent),
    }
  },
}

interface Overview {
  readonly nodes: readonly Counted[]
  readonly groups: readonly Row[]
  readonly agent_os: readonly Counted[]
  readonly agent_version: readonly Counted[]
  readonly last_registered_agent: readonly Row[]
  readonly agent_status: Row
}

/** Of translated data: lists in the order of `byText`. */
export function inTextOrder(data: unknown): unknown {
  if (!isRow(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, part]) => {
      const isList = isRow(part) && Array.isArray(part.items)
      return [name, isList ? { ...part, items: byText(part.items as readonly Row[]) } : part]
    }),
  )
}

const agents = list(agentRow, 'id')
const inventory = { one: one(rows(inventoryRow)), list: list(inventoryRow), all: pages(allAgentsRow) }

/** With a section, the section itself; with a field of it, the field itself. */
const configuration: Shape = one((item, { query: { section, field: name } }) => {
  const whole = v3Sections(item as Row)
  if (typeof section !== 'string') return whole
  const of = whole[section]
  return typeof name === 'string' ? (of as Row)[name] : of
})

/** A connection has one text of protocols; registration replaces an agent after a time in seconds. */
function v3Sections({ remote, auth, ...others }: Row): Row {
  return {
    ...others,
    ...(remote !== undefined && { remote: (remote as readonly Row[]).map(v3Connection) }),
    ...(auth !== undefined && { auth: v3Registration(auth as Row) }),
  }
}

const v3Connection = ({ protocol, ...rest }: Row): Row =>
  protocol === undefined ? rest : { ...rest, protocol: Array.isArray(protocol) ? protocol.join(',') : protocol }

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function v3Registration({ force, ...same }: Row): Row {
  if (!isRow(force)) return { ...same, ...(force !== undefined && { force }) }
  const { enabled, value, item } = force.disconnected_time as Row
  const [, count = '', unit = 's'] = /^(\d+)([smhd])$/.exec(String(item)) ?? []
  const time = value ?? String(Number(count) * (SECONDS[unit] ?? 1))
  const always = value === undefined ? '0' : 'always'
  return { ...same, force_insert: force.enabled, force_time: enabled === 'yes' ? time : always }
}

const activeConfiguration: Shape = { kind: 'data', of: (data) => v3Sections((items(data)[0] ?? {}) as Row) }

const nodes: Readonly<Record<string, Shape>> = {
  'GET info': info,
  'GET status': status,
  'GET configuration': configuration,
  'GET config/:component/:configuration': activeConfiguration,
  'GET logs': list(logRow),
  'GET logs/summary': merged(v3Daemon),
  'GET stats': { kind: 'data', of: items },
  'GET stats/hourly': one(same),
  'GET stats/weekly': merged((day) => day),
  'GET stats/analysisd': one((item) => countersRow(item as Row)),
  'GET stats/remoted': one((item) => countersRow(item as Row)),
  'GET configuration/validation': verdict,
  'GET files': { kind: 'file' },
  'POST files': text(/^File updated successfully$/),
  'DELETE files': text(/^File was deleted$/),
  'PUT restart': text(/^Restart request sent$/),
}

const agentOf = ({ params: { agent_id = '' } }: V3Request) => agent_id.padStart(3, '0')
const scan = ({ params }: V3Request) =>
  `Restarting Syscheck/Rootcheck ${params.agent_id === '000' ? 'locally' : 'on agent'}`
const removed = { all: 'All selected agents were removed', some: 'Some agents were not removed' }
const restarted = { all: 'All selected agents were restarted', some: 'Some agents were not restarted' }
const ungrouped = {
  all: 'All selected agents were removed from group :group_id',
  some: 'Some agents were not removed from group :group_id',
}
const grouped = {
  all: 'All selected agents were assigned to group :group_id',
  some: 'Some agents were not assigned to group :group_id',
}
const groupsRemoved = { all: 'All selected groups were removed', some: 'Some groups were not removed', list: 'ids' }

const shapes: Readonly<Record<string, Shape>> = {
  'PUT /active-response/:agent_id': text(/^Command sent\.$/),
  'POST /agents': bare,
  'PUT /agents/:agent_name': bare,
  'POST /agents/insert': bare,
  'GET /agents': agents,
  'GET /agents/:agent_id': { ...one(rows(agentRow)) },
  'GET /agents/name/:agent_name': {
    kind: 'one',
    row: rows(agentRow),
    missing: { status: 200, codes: [1701] },
  },
  'GET /agents/no_group': agents,
  'GET /agents/outdated': list((row) => row),
  'GET /agents/summary': { kind: 'data', of: (data, _, __, user = '') => summary((data as Row).connection, user) },
  'GET /agents/summary/os': texts,
  'GET /agents/stats/distinct': list(distinctRow),
  'GET /agents/:agent_id/key': field('key'),
  'GET /agents/:agent_id/config/:component/:configuration': bare,
  'GET /agents/:agent_id/group/is_sync': one((item) => ({ synced: (item as Row).synced })),
  'GET /agents/:agent_id/upgrade_result': text(/./),
  'DELETE /agents': { kind: 'affected', ...removed, none: 'No agents were removed' },
  'DELETE /agents/:agent_id': { kind: 'affected', ...removed },
  'POST /agents/restart': { kind: 'affected', ...restarted },
  'PUT /agents/restart': text(/^Restarting all agents$/),
  'PUT /agents/:agent_id/restart': { kind: 'affected', ...restarted },
  'PUT /agents/:agent_id/upgrade': text(/^Upgrade procedure started$/),
  'PUT /agents/:agent_id/upgrade_custom': text(/^Installation started$/),

  'GET /agents/groups': texts,
  'GET /agents/groups/:group_id': agents,
  'GET /agents/groups/:group_id/configuration': unwrappedList,
  'GET /agents/groups/:group_id/files': texts,
  'GET /agents/groups/:group_id/files/:filename': groupFile,
  'PUT /agents/groups/:group_id': text(({ params }) => `Group '${params.group_id}' created.`),
  'POST /agents/groups/:group_id/configuration': text(/^Agent configuration was updated successfully$/),
  'POST /agents/groups/:group_id/files/:file_name': text(/^Agent configuration was updated successfully$/),
  'POST /agents/group/:group_id': { kind: 'affected', ...grouped, plain: true },
  'PUT /agents/:agent_id/group/:group_id': text((request, { code }) => {
    const [agent, group] = [agentOf(request), request.params.group_id]
    if (code === 1751) return `Agent '${agent}' already belongs to group '${group}'.`
    return `Group '${group}' ${'force_single_group' in request.query ? 'set' : 'added'} to agent '${agent}'.`
  }),
  'DELETE /agents/:agent_id/group': text((request) => `Group unset for agent '${agentOf(request)}'.`),
  'DELETE /agents/:agent_id/group/:group_id': text((request, { message }) =>
    message.includes('reassigned')
      ? `Agent ${agentOf(request)} set to group default.`
      : `Group '${request.params.group_id}' unset for agent '${agentOf(request)}'.`,
  ),
  'DELETE /agents/group/:group_id': { kind: 'affected', ...ungrouped },
  'DELETE /agents/groups': { kind: 'affected', ...groupsRemoved },
  'DELETE /agents/groups/:group_id': { kind: 'affected', ...groupsRemoved },

  'GET /ciscat/:agent_id/results': list(ciscatRow),
  'GET /experimental/ciscat/results': pages((row) => row),

  'GET /cluster/configuration/validation': verdicts,
  'GET /cluster/config': one(same),
  'GET /cluster/status': bare,
  'GET /cluster/healthcheck': healthcheck,
  'GET /cluster/node': one(same),
  'GET /cluster/nodes': list((row) => row),
  'GET /cluster/nodes/:node_name': one(same),
  'PUT /cluster/restart': text(/^Restart request sent$/),

  'GET /decoders': list(rulesetRow),
  'GET /decoders/files': list(rulesetRow),
  'GET /decoders/parents': list(rulesetRow),
  'GET /decoders/:decoder_name': list(rulesetRow),
  'GET /rules': list(rulesetRow),
  'GET /rules/:rule_id': list(rulesetRow),
  'GET /rules/files': list(rulesetRow),
  'GET /rules/groups': texts,
  'GET /rules/pci': texts,
  'GET /rules/gdpr': texts,
  'GET /rules/hipaa': texts,
  'GET /rules/nist-800-53': texts,
  'GET /rules/gpg13': texts,
  'GET /lists': { ...list(listRow), countsPage: true },
  'GET /lists/files': { ...list(listFileRow), countsPage: true },

  'GET /rootcheck/:agent_id': list(rootcheckRow),
  'GET /rootcheck/:agent_id/cis': catalogue('cis'),
  'GET /rootcheck/:agent_id/pci': catalogue('pci_dss'),
  'GET /rootcheck/:agent_id/last_scan': one((item) => lastScanRow(item as Row)),
  'DELETE /rootcheck': text(/^Rootcheck database deleted$/),
  'DELETE /rootcheck/:agent_id': text(/^Rootcheck database deleted$/),
  'PUT /rootcheck': text(/^Restarting Syscheck\/Rootcheck on all agents$/),
  'PUT /rootcheck/:agent_id': text(scan),
  'GET /syscheck/:agent_id': list(syscheckRow),
  'GET /syscheck/:agent_id/last_scan': one((item) => lastScanRow(item as Row)),
  'DELETE /syscheck/:agent_id': text(/^Syscheck database deleted$/),
  'DELETE /experimental/syscheck': text(/^Syscheck database deleted$/),
  'PUT /syscheck': text(/^Restarting Syscheck\/Rootcheck on all agents$/),
  'PUT /syscheck/:agent_id': text(scan),
  'GET /sca/:agent_id': list(scaRow),
  'GET /sca/:agent_id/checks/:policy_id': list(scaCheckRow),
  'GET /summary/agents': overview,
}

export function shapeOf(endpoint: string): Shape {
  const [method, path = ''] = endpoint.split(' ')
  const own = shapes[endpoint]
  if (own !== undefined) return own
  const node = /^\/(?:manager|cluster\/:node_id)\/(.*)$/.exec(path)?.[1]
  const ofNode = nodes[`${method} ${node}`]
  if (ofNode !== undefined) return ofNode
  const [, scope, kind] = /^\/(syscollector\/:agent_id|experimental\/syscollector)\/(\w+)$/.exec(path) ?? []
  if (scope === undefined) throw new Error(`no shape of ${endpoint}`)
  if (scope.startsWith('experimental')) return inventory.all
  return kind === 'hardware' || kind === 'os' ? inventory.one : inventory.list
}
