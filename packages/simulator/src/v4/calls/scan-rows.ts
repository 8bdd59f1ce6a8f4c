/** Integrity and policy scans of agents: what is read, cleared and run. */
import type { Machine } from '../../data/machine.ts'
import { watchedFiles } from '../../data/scans/integrity.ts'
import { findings } from '../../data/scans/policy.ts'
import { scanEnd, scanStart, scanStateOf } from '../../data/scans/state.ts'
import { stamp } from '../../data/times.ts'
import type { Row, SimAgent } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, type Item, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { isTrue, membersOf } from '../parameters.ts'
import { isActive, isBefore, isoOf, releaseOf, zuluOf } from '../rows.ts'
import { canonical, eachAgent } from './agent-table.ts'
import { createDatabase, machineWithDatabase, noDatabase } from './inventory.ts'
import { isV3Agent } from './inventory-tables.ts'

export type Scan = 'syscheck' | 'rootcheck'

const fileTable: Table = {
  kind: 'database',
  fields: [
    ...['date', 'arch', 'value.type', 'value.name', 'mtime', 'file', 'size', 'perm', 'uname', 'gname', 'md5', 'sha1'],
    ...['sha256', 'inode', 'gid', 'uid', 'type', 'changes', 'attributes'],
  ],
  times: ['date', 'mtime'],
  keys: ['file'],
  order: '+mtime',
}

const findingTable: Table = {
  kind: 'database',
  fields: ['status', 'log', 'date_first', 'date_last', 'pci_dss', 'cis'],
  times: ['date_first', 'date_last'],
  order: '-date_last',
}

/** `100644` → `rw-r--r--` */
function permissionText(octal: string): string {
  return [...octal.slice(-3)]
    .map((digit) => ['r', 'w', 'x'].map((letter, at) => ((Number(digit) >> (2 - at)) & 1 ? letter : '-')).join(''))
    .join('')
}

function v4File({ date, mtime, perm, type, ...row }: Row, agent: SimAgent): Item {
  const old = isV3Agent(agent)
  const permission = perm === undefined ? {} : { perm: old ? Number(perm) : permissionText(String(perm)) }
  return present({
    ...row,
    ...permission,
    type: type === 'registry' ? 'registry_key' : type,
    date: isoOf(String(date)),
    mtime: isoOf(String(mtime)),
    changes: 1,
    ...(old ? { attributes: '' } : {}),
  })
}

function v4Finding({ event, oldDay, readDay, pci, ...row }: Row): Item {
  const times = { date_first: zuluOf(String(oldDay)), date_last: zuluOf(String(readDay)) }
  return present({ ...row, log: event, ...times, pci_dss: pci })
}

function present(row: Item): Item {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}

const rowsOf: Readonly<Record<Scan, (machine: Machine, start: Date, agent: SimAgent) => Item[]>> = {
  syscheck: (machine, start, agent) => watchedFiles(machine, start).map((row) => v4File(row, agent)),
  rootcheck: (machine, start) => findings(machine, start).map(v4Finding),
}

function scanRows(scan: Scan, agent: SimAgent, { world, node }: Asked): Item[] {
  const machine = machineWithDatabase(world, node, agent)
  const state = scanStateOf(node, agent)
  if (machine === undefined || state.cleared.has(scan)) return []
  return rowsOf[scan](machine, scanStart(world, machine, state), agent)
}

function agentOf({ world, params }: Asked): SimAgent | undefined {
  return world.agents.get(canonical(params.agent_id ?? ''))
}

const equalFields = ['file', 'arch', 'value.name', 'value.type', 'type', 'md5', 'sha1', 'sha256']

/** An unknown agent has no database. With `distinct`, the file is added, so that rows remain different. */
export function files(asked: Asked) {
  const { query, world, params } = asked
  const agent = agentOf(asked)
  if (agent === undefined) throw noDatabase(params.agent_id ?? '')
  const rows = scanRows('syscheck', agent, asked).filter((row) => {
    const { hash } = query
    if (hash !== undefined && ![row.md5, row.sha1, row.sha256].includes(hash)) return false
    return equalFields.every((name) => (query[name] ?? String(row[name])) === String(row[name]))
  })
  const { distinct, select, ...rest } = query
  const fields = isTrue(query.summary) ? 'date,mtime,file' : select
  const shown = fields === undefined ? {} : { select: isTrue(distinct) ? `file,${fields}` : fields }
  const { items, total } = collectRows(rows, fileTable, { ...rest, ...shown }, world.now())
  return affected(items, { total })
}

export function policyFindings(asked: Asked) {
  const { query, world } = asked
  const agent = agentOf(asked)
  if (agent === undefined) throw new V4Error(1701)
  const { status = 'all', pci_dss: pci, cis } = query
  if (!['all', 'outstanding', 'solved'].includes(status)) throw new V4Error(1000)
  const rows = scanRows('rootcheck', agent, asked).filter((row) => {
    if (status !== 'all' && row.status !== status) return false
    return (pci ?? row.pci_dss) === row.pci_dss && (cis ?? row.cis) === row.cis
  })
  const { items, total } = collectRows(rows, findingTable, query, world.now())
  return affected(items, { total })
}

/** Agents that never connected have no times. */
export function lastScan(format: (stamp: string) => string) {
  return (asked: Asked) => {
    const { world, node } = asked
    const agent = agentOf(asked)
    if (agent === undefined) throw new V4Error(1701)
    const machine = agent.lastKeepAlive === undefined ? undefined : machineWithDatabase(world, node, agent)
    if (machine === undefined) return affected([{ start: null, end: null }])
    const start = scanStart(world, machine, scanStateOf(node, agent))
    const end = scanEnd(world, start)
    return affected([{ start: format(stamp(start)), end: end === undefined ? null : format(stamp(end)) }])
  }
}

/** Only databases of agents before 3.12 can be cleared. */
function clearFiles(asked: Asked, agent: SimAgent): string {
  const release = releaseOf(agent)
  if (release === undefined) throw new V4Error(1015)
  if (!isBefore(release, [3, 12, 0])) throw new V4Error(1760, 'Agent version should be < v3.12.0.')
  scanStateOf(asked.node, agent).cleared.add('syscheck')
  return agent.id
}

/** An agent without a database gets an empty one. */
function clearFindings({ world, node }: Asked, agent: SimAgent): string {
  createDatabase(world, agent)
  scanStateOf(node, agent).cleared.add('rootcheck')
  return agent.id
}

const clear = { syscheck: clearFiles, rootcheck: clearFindings }

export function clearOne(scan: Scan) {
  return (asked: Asked) =>
    eachAgent(asked, [asked.params.agent_id ?? ''], (agent) => clear[scan](asked, agent), 'allowed')
}

/** With `all`, agents whose database cannot be cleared are left out. */
export function clearMany(scan: Scan) {
  return (asked: Asked) => {
    const { query } = asked
    const answer = eachAgent(asked, membersOf(query.agents_list) ?? [], (agent) => clear[scan](asked, agent), 'allowed')
    return query.whole === undefined ? answer : affected(answer.items)
  }
}

/** A scan restores cleared findings. */
export function run(asked: Asked) {
  const { world, node, query } = asked
  return eachAgent(
    asked,
    membersOf(query.agents_list) ?? [],
    (agent) => {
      if (!isActive(agent, world.now())) throw new V4Error(1707)
      const state = scanStateOf(node, agent)
      state.lastScan = new Date(Math.floor(world.now().getTime() / 1000) * 1000)
      state.cleared.clear()
      return agent.id
    },
    'allowed',
  )
}
