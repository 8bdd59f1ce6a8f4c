/** The commands that change a running edge: `purge`, `drain` (takes a node out for maintenance) and `undrain`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { printTable } from '../../../../src/cli/output.ts'
import { CommandError, print } from '../../../../src/cli/terminal.ts'
import { durationFormat } from '../../../../src/config/formats.ts'
import type { DrainResult } from '../../../../src/status/node-types.ts'
import type { PurgeNames, PurgeRequest, PurgeResult } from '../../../../src/status/view-types.ts'
import { type ExpectedLoad, expectLoad, type NodeSummary, type Nodes } from '../../../console/server/node-types.ts'
import { type ConnectionOptions, type Operations, usageError, withOperations } from './edge-client.ts'
import { createProgressLine, formatBytes, formatTime, printMeasured } from './output.ts'

interface ChangeOptions extends ConnectionOptions {
  readonly json?: true
}

interface PurgeOptions extends ChangeOptions {
  readonly tag?: string
  readonly group?: string
  readonly endpoint?: string
  readonly all?: true
  /** Mark as stale instead. */
  readonly soft?: true
  readonly dryRun?: true
}

export async function purge(options: PurgeOptions): Promise<void> {
  const names = namesOf(options)
  const { soft = false, dryRun: preview = false, json } = options
  await withOperations(options, async ({ change }) => {
    const request: PurgeRequest = { ...names, soft, preview }
    const result = await change<PurgeResult>('POST', '/api/purge', request)
    if (json) printMeasured({ ...names, soft, preview, ...result })
    else if (!result.pending) print(describePurge(result, { soft, preview }))
    const pending =
      'Redis is unreachable, so nothing is purged yet; check the connection to Redis: the edge purges then'
    if (result.pending) throw new CommandError(pending)
  })
}

/** One name, so that the command never purges more than what was meant. */
function namesOf({ tag, group, endpoint, all }: PurgeOptions): PurgeNames {
  const names = { ...(tag && { tag }), ...(group && { group }), ...(endpoint && { endpoint }) }
  if (Object.keys(names).length + (all ? 1 : 0) !== 1) throw usageError('give one of --tag, --group, --endpoint, --all')
  return names
}

function describePurge({ entries, bytes, seconds }: PurgeResult, how: { soft: boolean; preview: boolean }): string {
  if (entries === 0) return 'no stored response matches; nothing to purge'
  const done = how.soft ? 'marked as stale' : 'purged'
  const count = `${entries} stored response${entries === 1 ? '' : 's'} (${formatBytes(bytes)})`
  const cost = `fetching again takes ${formatTime(seconds * 1000)} of node time`
  return how.preview ? `would be ${done}: ${count}; ${cost}` : `${done}: ${count}; ${cost}`
}

interface DrainOptions extends ChangeOptions {
  readonly for?: string
  readonly reason?: string
  readonly confirmMaster?: true
  readonly dryRun?: true
  readonly wait?: true
  /** Seconds. */
  readonly waitTimeout: number
}

export async function drain(name: string, options: DrainOptions): Promise<void> {
  const { for: duration, reason, confirmMaster, dryRun, wait, json } = options
  if (duration !== undefined && !durationFormat.validate(duration))
    throw usageError(`--for ${duration} is not ${durationFormat.description}; write for example --for 30m`)
  await withOperations(options, async (operations) => {
    const nodes = await operations.read<Nodes>('/api/nodes')
    const node = findNode(name, nodes)
    const expected = expectLoad(node, nodes)
    if (node.type === 'master' && !confirmMaster && !dryRun)
      throw new CommandError(`${name} is the master, without which writes fail; give --confirm-master if it is meant`)
    if (!json) printLoad(name, expected)
    if (dryRun) return json ? printMeasured({ node: name, expected }) : undefined
    const query = new URLSearchParams({
      ...(confirmMaster && { confirm: 'master' }),
      ...(duration !== undefined && { for: duration }),
      ...(reason !== undefined && { reason }),
    })
    const path = `${pathOf(name)}${query.size > 0 ? `?${query}` : ''}`
    const result = await operations.change<DrainResult>('PUT', path)
    if (!json) print(describeDrain(result))
    const inFlight = wait ? await waitUntilIdle(name, operations, options.waitTimeout * 1000) : undefined
    if (json) printMeasured({ ...result, expected, ...(inFlight !== undefined && { inFlight }) })
    else if (inFlight === 0) print(`no call to ${name} is in flight`)
    if (inFlight) throw new CommandError(`${inFlight} calls to ${name} are in flight after ${options.waitTimeout} s`)
  })
}

export async function undrain(name: string, options: ChangeOptions): Promise<void> {
  await withOperations(options, async ({ change }) => {
    const result = await change<DrainResult>('DELETE', pathOf(name))
    if (options.json) printMeasured(result)
    else print(`${name} gets calls again${scopeOf(result)}`)
  })
}

function pathOf(name: string): string {
  return `/api/nodes/${encodeURIComponent(name)}/drain`
}

function describeDrain(result: DrainResult): string {
  const { node, reason, until } = result
  const end = until === undefined ? `until "undrain ${node}"` : `until ${until.slice(0, 19)}Z`
  return `${node} is drained ${end}${reason === undefined ? '' : `, ${reason}`}${scopeOf(result)}`
}

function scopeOf({ appliesTo }: DrainResult): string {
  return appliesTo === 'allReplicas' ? ' (all replicas)' : ' (this replica only, because there is no Redis)'
}

function findNode(name: string, { nodes }: Nodes): NodeSummary {
  const found = nodes.find((node) => node.name === name)
  if (found !== undefined) return found
  throw new CommandError(`the cluster has no node ${name}; it has ${nodes.map((node) => node.name).join(', ')}`)
}

function printLoad(name: string, expected: readonly ExpectedLoad[]): void {
  print(`expected calls per minute of this replica without ${name}, if the others share its calls:`)
  const columns = [
    { title: 'NODE', cell: ({ node }: ExpectedLoad) => node },
    { title: 'NOW', cell: ({ callsPerMinute }: ExpectedLoad) => callsPerMinute },
    { title: 'EXPECTED', cell: ({ expectedPerMinute }: ExpectedLoad) => expectedPerMinute },
    { title: 'IN FLIGHT', cell: ({ inFlight, limit }: ExpectedLoad) => `${inFlight}/${limit}` },
  ]
  printTable(columns, expected)
}

const POLL_INTERVAL_MS = 500
/** A replica reports its calls in flight every two seconds. An older report may be of the time before the drain. */
const MIN_WAIT_MS = 4500

/** Returns the calls in flight of all replicas: 0, or what is left after `timeout` milliseconds. */
async function waitUntilIdle(name: string, { read }: Operations, timeout: number): Promise<number> {
  const progress = createProgressLine()
  const startedAt = performance.now()
  try {
    for (;;) {
      const { nodes, replicas } = await read<Nodes>('/api/nodes')
      const waited = performance.now() - startedAt
      const all = [{ nodes }, ...(replicas ?? [])].flatMap((each) => each.nodes)
      const inFlight = all.reduce((sum, node) => sum + (node.name === name ? node.inFlight : 0), 0)
      // `null`: Redis is unreachable, and the calls of the others are not known.
      const isCurrent =
        replicas === undefined || (replicas !== null && (replicas.length === 0 || waited >= MIN_WAIT_MS))
      if (waited >= timeout && replicas === null)
        throw new CommandError(`the other replicas cannot be asked for their calls to ${name}: Redis is unreachable`)
      if ((inFlight === 0 && isCurrent) || waited >= timeout) return inFlight
      progress.show(`waiting for ${inFlight} calls to ${name}, ${formatTime(waited)}`)
      await sleep(POLL_INTERVAL_MS)
    }
  } finally {
    progress.clear()
  }
}
