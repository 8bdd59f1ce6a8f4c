/** `manager-edge top`: the busiest endpoints and callers, and the nodes, of one replica. */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatTable, singleLine } from '../../../../src/cli/output.ts'
import type { Now } from '../../../console/server/api-types.ts'
import type { NodeSummary, Nodes } from '../../../console/server/node-types.ts'
import type { CallerCost, Costs, EndpointCost, TailBatch, TailRequest } from '../../../console/server/request-types.ts'
import { type ConnectionOptions, type Operations, withOperations } from './edge-client.ts'
import { coloured, createProgressLine, cutToScreen, printMeasured } from './output.ts'

export interface TopOptions extends ConnectionOptions {
  readonly json?: true
  /** Print one table and end. */
  readonly once?: true
  /** Seconds of traffic that one table covers. */
  readonly seconds: number
  /** Rows of endpoints and of callers. */
  readonly rows: number
}

/** Requests with the same endpoint or caller. */
interface Busy {
  readonly name: string
  readonly requests: number
  /** Percent of all observed requests. */
  readonly share: number
  readonly hits: number
  /** Responses with a 5xx status. */
  readonly failures: number
  /** Milliseconds of all requests together. */
  readonly time: number
}

interface Top {
  readonly edge: Pick<Now['edge'], 'name' | 'version' | 'ready'>
  readonly rates: Now['rates']
  readonly seconds: number
  /** Requests that the table is made of; `skipped` more were not sent to this command. */
  readonly observed: number
  readonly skipped: number
  readonly endpoints: readonly Busy[]
  readonly callers: readonly Busy[]
  readonly nodes: readonly NodeSummary[]
  /** Of all replicas, over the last ten minutes. */
  readonly costs: Costs
}

const REPAINT_INTERVAL_MS = 2000

export async function top(options: TopOptions): Promise<void> {
  const { json, once, seconds } = options
  const isLive = process.stdout.isTTY === true && !json && !once
  await withOperations(options, async (operations) => {
    const stop = new AbortController()
    const offset = await operations.clockOffset()
    const window = createWindow(seconds * 1000, () => Date.now() + offset)
    const watching = watch(operations, window, stop.signal)
    // Another request may fail first. The race below still rejects.
    watching.catch(() => undefined)
    try {
      if (isLive) await repaint(options, { operations, window, watching })
      else {
        const progress = createProgressLine()
        progress.show(`watching requests for ${seconds} s`)
        await Promise.race([sleep(seconds * 1000), watching])
        progress.clear()
        const found = await read(operations, window, options)
        if (json) printMeasured(found)
        else process.stdout.write(format(found))
      }
    } finally {
      stop.abort()
      await watching.catch(() => undefined)
    }
  })
}

interface Watched {
  readonly operations: Operations
  readonly window: RequestWindow
  readonly watching: Promise<void>
}

/** Runs until the operator ends it (q or control-C), or the stream ends. */
async function repaint(options: TopOptions, { operations, window, watching }: Watched): Promise<void> {
  const keys = readKeys()
  const end = Promise.race([keys.quit, watching])
  try {
    for (;;) {
      const { columns = 80, rows = 24 } = process.stdout
      const text = format(await read(operations, window, options))
      const shown = cutToScreen(text, { columns, rows: rows - 1 })
      // Home, then the lines, each cleared to its end: clearing the whole screen first would flicker.
      process.stdout.write(`\x1b[H${shown.replaceAll('\n', '\x1b[K\n')}\x1b[K\n\x1b[J${coloured('dim', 'q: quit')}`)
      const isOver = await Promise.race([sleep(REPAINT_INTERVAL_MS, false), end.then(() => true)])
      if (isOver) return
    }
  } finally {
    keys.close()
    process.stdout.write('\n')
  }
}

/** Reads single keys of the terminal. `quit` resolves with q or control-C. */
function readKeys(): { readonly quit: Promise<void>; close(): void } {
  const { stdin } = process
  if (stdin.isTTY !== true) return { quit: new Promise(() => undefined), close: () => undefined }
  stdin.setRawMode(true)
  stdin.resume()
  const quit = new Promise<void>((resolve) => {
    stdin.on('data', (keys) => {
      if (/[q\x03]/.test(String(keys))) resolve()
    })
  })
  return {
    quit,
    close: () => {
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}

/** Resolves when the edge ends the stream, or `signal` aborts. */
async function watch({ events }: Operations, window: RequestWindow, signal: AbortSignal): Promise<void> {
  try {
    for await (const text of events('/api/requests', signal)) if (text !== '{}') window.add(JSON.parse(text))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type RequestWindow = ReturnType<typeof createWindow>

/** The requests of the last `lengthMs` milliseconds. `clock`: that of the edge. The edge first sends older requests too. */
function createWindow(lengthMs: number, clock: () => number) {
  let requests: readonly TailRequest[] = []
  let skips: readonly { readonly at: number; readonly count: number }[] = []
  const isRecent = ({ at }: { readonly at: number }) => at >= clock() - lengthMs
  return {
    add: (batch: TailBatch): void => {
      requests = [...requests, ...batch.requests].filter(isRecent)
      skips = [...skips, { at: clock(), count: batch.skipped }].filter(isRecent)
    },
    requests: (): readonly TailRequest[] => requests.filter(isRecent),
    skipped: (): number => skips.filter(isRecent).reduce((sum, { count }) => sum + count, 0),
  }
}

async function read({ read }: Operations, window: RequestWindow, { seconds, rows }: TopOptions): Promise<Top> {
  const [{ edge, rates }, { nodes }, costs] = await Promise.all([
    read<Now>('/api/now'),
    read<Nodes>('/api/nodes'),
    read<Costs>('/api/costs'),
  ])
  const requests = window.requests()
  const busiest = (nameOf: (request: TailRequest) => string) => groupBy(requests, nameOf).slice(0, rows)
  const { name, version, ready } = edge
  return {
    edge: { name, version, ready },
    rates,
    seconds,
    observed: requests.length,
    skipped: window.skipped(),
    endpoints: busiest(({ method, path, route }) => `${method} ${path ?? route}`),
    callers: busiest(({ user, client }) => (user === '' ? client : user)),
    nodes: [...nodes].sort((a, b) => b.calls - a.calls),
    costs: { ...costs, callers: costs.callers.slice(0, rows), endpoints: costs.endpoints.slice(0, rows) },
  }
}

function groupBy(requests: readonly TailRequest[], nameOf: (request: TailRequest) => string): Busy[] {
  const groups = new Map<string, TailRequest[]>()
  for (const request of requests) {
    const group = groups.get(nameOf(request))
    if (group === undefined) groups.set(nameOf(request), [request])
    else group.push(request)
  }
  const busy = [...groups].map(([name, all]) => ({
    name,
    requests: all.length,
    share: Math.round((100 * all.length) / requests.length),
    hits: all.filter(({ cache }) => cache === 'hit').length,
    failures: all.filter(({ status }) => status >= 500).length,
    time: Math.round(all.reduce((sum, { ms }) => sum + ms, 0)),
  }))
  return busy.sort((a, b) => b.requests - a.requests || b.time - a.time)
}

function format({ edge, rates, seconds, observed, skipped, endpoints, callers, nodes, costs }: Top): string {
  const hits = rates.hitRatio === undefined ? '' : `, ${Math.round(100 * rates.hitRatio)} % hits`
  const state = edge.ready ? 'ready' : 'NOT READY'
  const note = skipped > 0 ? `, ${skipped} more not shown (rate too high)` : ''
  const busyColumns = (title: string) => [
    { title, cell: ({ name }: Busy) => name },
    { title: 'REQUESTS', cell: ({ requests }: Busy) => requests },
    { title: '%', cell: ({ share }: Busy) => share },
    { title: 'HITS', cell: ({ hits }: Busy) => hits },
    { title: '5XX', cell: ({ failures }: Busy) => failures },
    { title: 'MS', cell: ({ time }: Busy) => time },
  ]
  const nodeColumns = [
    { title: 'NODE', cell: ({ name }: NodeSummary) => name },
    { title: 'STATE', cell: ({ state }: NodeSummary) => state },
    { title: 'IN FLIGHT', cell: ({ inFlight, limit }: NodeSummary) => `${inFlight}/${limit}` },
    { title: 'QUEUED', cell: ({ queue }: NodeSummary) => queue },
    { title: 'CALLS IN 5 MIN', cell: ({ calls }: NodeSummary) => calls },
    { title: 'FAILED', cell: ({ failed }: NodeSummary) => failed },
    { title: 'P50 MS', cell: ({ p50 }: NodeSummary) => (p50 === undefined ? '-' : Math.round(p50)) },
    { title: 'P99 MS', cell: ({ p99 }: NodeSummary) => (p99 === undefined ? '-' : Math.round(p99)) },
  ]
  const head = `${singleLine(edge.name)} ${edge.version}, ${state}: ${rates.perSecond.toFixed(1)} requests/s${hits}, ${rates.callsPerSecond.toFixed(1)} calls/s to nodes`
  return [
    `${head}\n${observed} requests in ${seconds} s${note}\n`,
    formatTable(busyColumns('ENDPOINT'), endpoints),
    formatTable(busyColumns('CALLER'), callers),
    formatTable(nodeColumns, nodes),
    ...costTables(costs),
  ].join('\n')
}

/** Who costs the manager what. Without calls to nodes there is nothing to show. */
function costTables({ seconds, total, callers, endpoints }: Costs): string[] {
  if (total.calls === 0) return []
  const columns = [
    { title: 'NODE S', cell: ({ nodeTime }: Pick<CallerCost, 'nodeTime'>) => (nodeTime / 1000).toFixed(1) },
    { title: '%', cell: ({ nodeTime }: CallerCost | EndpointCost) => percentOf(nodeTime, total.nodeTime) },
    { title: 'CALLS', cell: ({ calls }: CallerCost | EndpointCost) => calls },
    { title: 'REQUESTS', cell: ({ requests }: CallerCost | EndpointCost) => requests },
    { title: 'HIT %', cell: ({ hits, requests }: CallerCost | EndpointCost) => percentOf(hits, requests) },
  ]
  const nameOf = ({ caller }: Pick<CallerCost, 'caller'>) => caller ?? '(edge)'
  const costly = <Row extends { readonly calls: number }>(rows: readonly Row[]) => rows.filter(({ calls }) => calls > 0)
  return [
    `node time in ${seconds} s, all replicas\n`,
    formatTable([{ title: 'COSTLIEST CALLER', cell: nameOf }, ...columns], costly(callers)),
    formatTable(
      [
        { title: 'COSTLIEST ENDPOINT', cell: ({ endpoint }: EndpointCost) => endpoint },
        { title: 'CALLER', cell: nameOf },
        ...columns,
      ],
      costly(endpoints),
    ),
  ]
}

function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((100 * part) / whole)
}
