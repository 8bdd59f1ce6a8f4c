/** Integrity and policy scans of an agent: read, clear and run. */
import { sources } from '../../../../src/collections/sources.ts'
import { statusOf } from '../agent-state.ts'
import { type Machine, machineOf } from '../data/machine.ts'
import { pageOf, tableOf } from '../data/page.ts'
import { watchedFiles } from '../data/scans/integrity.ts'
import { findings } from '../data/scans/policy.ts'
import { scanEnd, scanStart, scanStateOf } from '../data/scans/state.ts'
import { stamp } from '../data/times.ts'
import {
  FrameworkError,
  type Row,
  type SimAgent,
  type SimHandler,
  type SimHandlers,
  type SimRequest,
} from '../model.ts'
import { refusal } from '../texts.ts'
import { findAgent } from './agents.ts'

type Scan = 'syscheck' | 'rootcheck'

const scans: Readonly<
  Record<Scan, { rowsOf: (machine: Machine, start: Date) => Row[]; cleared: string; inactive: FrameworkError }>
> = {
  syscheck: {
    rowsOf: watchedFiles,
    cleared: 'Syscheck database deleted',
    inactive: new FrameworkError(1604, 'Impossible to run FIM scan due to agent is not active'),
  },
  rootcheck: {
    rowsOf: findings,
    cleared: 'Rootcheck database deleted',
    inactive: new FrameworkError(1605, 'Impossible to run policy monitoring scan due to agent is not active'),
  },
}

/** Returns nothing for an agent without data or with cleared data. */
function rowsOf(scan: Scan, { world, node, params }: SimRequest): Row[] {
  const agent = findAgent(world, params.agent_id)
  const machine = machineOf(world, node, agent)
  const state = scanStateOf(node, agent)
  if (machine === undefined || state.cleared.has(scan)) return []
  return scans[scan].rowsOf(machine, scanStart(world, machine, state))
}

/** Empty for an agent that the node does not know, as in the real API. */
function files(request: SimRequest) {
  const { summary, ...query } = request.query
  const asked = summary === 'yes' ? { ...query, select: 'date,mtime,file' } : query
  const isKnown = request.world.agents.has(request.params.agent_id ?? '')
  return tableOf(isKnown ? rowsOf('syscheck', request) : [], request, sources.syscheck, { query: asked, inParts: true })
}

/** Returns the distinct requirements of the findings; a finding may have several. */
function requirements(field: 'pci' | 'cis'): SimHandler {
  return (request) => {
    if (request.query.q !== undefined) throw refusal(1000)
    const named = rowsOf('rootcheck', request).flatMap((row) => String(row[field] ?? '').split(','))
    const values = new Set(named.filter((value) => value !== ''))
    return pageOf([...values].sort(), request, sources.requirements)
  }
}

/** An unknown time is the text `ND`. */
function lastScan({ world, node, params }: SimRequest): { start: string; end: string } {
  const agent = findAgent(world, params.agent_id)
  const machine = machineOf(world, node, agent)
  if (machine === undefined) return { start: 'ND', end: 'ND' }
  const start = scanStart(world, machine, scanStateOf(node, agent))
  const end = scanEnd(world, start)
  return { start: stamp(start), end: end === undefined ? 'ND' : stamp(end) }
}

/** Returns the agents whose data this node stores: those that report to it, and itself. */
function agentsOf({ world, node }: SimRequest): SimAgent[] {
  return [...world.agents.values()].filter((agent) => agent.id === '000' || agent.node === node.name)
}

function clearOne(scan: Scan): SimHandler {
  return ({ world, node, params }) => {
    scanStateOf(node, findAgent(world, params.agent_id)).cleared.add(scan)
    return scans[scan].cleared
  }
}

/** Only the first agents are read, as in the real API. */
function clearAll(scan: Scan): SimHandler {
  return (request) => {
    for (const agent of agentsOf(request).slice(0, 500)) scanStateOf(request.node, agent).cleared.add(scan)
    return scans[scan].cleared
  }
}

/** Either request starts both scans, and a scan restores cleared findings. */
function run({ world, node }: SimRequest, agent: SimAgent): void {
  const state = scanStateOf(node, agent)
  state.lastScan = new Date(Math.floor(world.now().getTime() / 1000) * 1000)
  state.cleared.clear()
}

function runOne(scan: Scan): SimHandler {
  return (request) => {
    const { world, params } = request
    const agent = findAgent(world, params.agent_id)
    if (statusOf(agent, world.now()) !== 'Active') throw scans[scan].inactive
    run(request, agent)
    return agent.id === '000' ? 'Restarting Syscheck/Rootcheck locally' : 'Restarting Syscheck/Rootcheck on agent'
  }
}

function runAll(request: SimRequest): string {
  const now = request.world.now()
  for (const agent of agentsOf(request)) if (statusOf(agent, now) === 'Active') run(request, agent)
  return 'Restarting Syscheck/Rootcheck on all agents'
}

export const scanHandlers: SimHandlers = {
  'GET /syscheck/:agent_id': files,
  'GET /syscheck/:agent_id/last_scan': lastScan,
  'DELETE /syscheck/:agent_id': clearOne('syscheck'),
  'DELETE /experimental/syscheck': clearAll('syscheck'),
  'PUT /syscheck': runAll,
  'PUT /syscheck/:agent_id': runOne('syscheck'),
  'GET /rootcheck/:agent_id': (request) => tableOf(rowsOf('rootcheck', request), request, sources.rootcheck, {}),
  'GET /rootcheck/:agent_id/cis': requirements('cis'),
  'GET /rootcheck/:agent_id/pci': requirements('pci'),
  'GET /rootcheck/:agent_id/last_scan': lastScan,
  'DELETE /rootcheck': clearAll('rootcheck'),
  'DELETE /rootcheck/:agent_id': clearOne('rootcheck'),
  'PUT /rootcheck': runAll,
  'PUT /rootcheck/:agent_id': runOne('rootcheck'),
}
