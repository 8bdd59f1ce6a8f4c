import { createConnection, type Socket } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { type MergeInput, mergeRows } from '../../../src/collections/merge.ts'
import { createCollectionBody } from '../../../src/collections/page-frame.ts'
import { rowsOf } from '../../../src/collections/rows.ts'
import { addInOrder } from '../../../src/collections/sorted-list.ts'
import { sources } from '../../../src/collections/sources.ts'
import type { Row } from '../../../src/collections/value.ts'
import { readEnvelopeInTurns } from '../../../src/core/envelope.ts'
import type { RowRanges } from '../../../src/core/response.ts'
import { BodyCollector } from '../../../src/upstream/body-collector.ts'
import { connectInTurns } from '../../../src/upstream/connector.ts'
import { WrongResponseError } from '../verify.ts'

/** Ways to build one page from the responses of many nodes, over the same keep-alive connections. */

export interface Page {
  readonly offset: number
  readonly limit: number
}

/** The result of one run: received bytes, the time of the last byte, and the page. */
export interface Run {
  readonly bytes: number
  readonly lastByte: number
  /** CPU time until then. */
  readonly used: NodeJS.CpuUsage
  readonly body: Buffer | undefined
}

export interface Way {
  readonly name: string
  run(nodes: number, page: Page): Promise<Run>
}

export interface Ways {
  readonly raw: Way
  readonly parsing: Way
  readonly joining: Way
  /** The order of the nodes is ignored: all rows are read and sorted. */
  readonly unsorted: Way
  /** Only the join, of bodies that were received before. */
  alone(nodes: number, trusted: boolean): Promise<Way>
  close(): Promise<void>
}

export function createWays(port: number, many: number): Ways {
  const sockets = Array.from({ length: many }, () => createConnection({ port, host: '127.0.0.1', noDelay: true }))
  const options = { connect: connectInTurns(buildConnector({})), pipelining: 1 }
  const clients = Array.from({ length: many }, () => new Client(`http://127.0.0.1:${port}`, options))
  return {
    raw: { name: 'raw sockets, bytes only', run: (nodes) => floor(sockets.slice(0, nodes)) },
    parsing: { name: 'undici, parse, merge, stringify', run: (nodes, page) => parsed(clients.slice(0, nodes), page) },
    joining: { name: 'undici, join', run: (nodes, page) => joined(clients.slice(0, nodes), page, true) },
    unsorted: { name: 'undici, join, unsorted', run: (nodes, page) => joined(clients.slice(0, nodes), page, false) },
    async alone(nodes, trusted) {
      const { parts, bytes } = await received(clients.slice(0, nodes), trusted)
      const run: Way['run'] = async (_nodes, page) => {
        const now = { bytes, lastByte: performance.now(), used: process.cpuUsage() }
        return { ...now, body: await pageOf(parts, page) }
      }
      return { name: `join alone${trusted ? '' : ', unsorted'}`, run }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await Promise.all(clients.map((client) => client.destroy()))
    },
  }
}

async function floor(sockets: readonly Socket[]): Promise<Run> {
  const lengths = await Promise.all(sockets.map(receive))
  const bytes = lengths.reduce((sum, one) => sum + one, 0)
  return { bytes, lastByte: performance.now(), used: process.cpuUsage(), body: undefined }
}

function receive(socket: Socket, node: number): Promise<number> {
  return new Promise((resolve) => {
    let missing: number | undefined
    let bytes = 0
    socket.on('data', function take(chunk) {
      bytes += chunk.length
      missing ??= wholeLength(chunk)
      if (bytes < missing) return
      socket.off('data', take)
      resolve(bytes)
    })
    socket.write(`GET /${node}/ HTTP/1.1\r\nHost: node\r\n\r\n`)
  })
}

function wholeLength(first: Buffer): number {
  const head = first.toString('latin1', 0, 300)
  return head.indexOf('\r\n\r\n') + 4 + Number(/Content-Length: (\d+)/.exec(head)?.[1])
}

async function joined(clients: readonly Client[], page: Page, trusted: boolean): Promise<Run> {
  const { parts, ...got } = await received(clients, trusted)
  return { ...got, body: await pageOf(parts, page) }
}

async function received(
  clients: readonly Client[],
  trusted: boolean,
): Promise<Omit<Run, 'body'> & { readonly parts: readonly MergeInput[] }> {
  const parts: MergeInput[] = []
  const got = await requestAll(clients, async (node, body) => {
    const read = await rowsOf(body, await checkedRows(node, body))
    if (!read.ok) throw new Error(read.reason)
    parts[node] = { rows: read.rows, isSorted: trusted }
  })
  return { ...got, parts }
}

/**
 * By node. The edge finds the rows when it checks a response, which is a part of the whole edge and not of joining. A node
 * returns the same body each time, so the first rounds check it.
 */
const checked = new Map<number, RowRanges | undefined>()

async function checkedRows(node: number, body: Buffer): Promise<RowRanges | undefined> {
  const known = checked.get(node)
  if (known !== undefined) return known
  const envelope = await readEnvelopeInTurns(body)
  const rows = envelope.ok ? envelope.rows : undefined
  checked.set(node, rows)
  return rows
}

async function pageOf(parts: readonly MergeInput[], { offset, limit }: Page): Promise<Buffer> {
  const merged = await mergeRows(parts, { sort: '+scan_id', source: sources.packages, offset, limit })
  if (!merged.ok) throw new Error(merged.reason)
  return createCollectionBody(merged)
}

interface Parsed {
  readonly data: { readonly items: readonly Row[]; readonly totalItems: number }
}

/**
 * The fastest way with parsed rows: parsed on arrival, merged in the same way, and only the page is serialised.
 */
async function parsed(clients: readonly Client[], { offset, limit }: Page): Promise<Run> {
  const responses: Parsed[] = []
  const got = await requestAll(clients, (node, body) => {
    responses[node] = JSON.parse(body.toString()) as Parsed
  })
  const items = firstRows(responses, offset + limit).slice(offset)
  const totalItems = responses.reduce((sum, { data }) => sum + data.totalItems, 0)
  return { ...got, body: Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems } })) }
}

interface OpenPart {
  at: number
  id: number
  readonly node: number
  readonly items: readonly Row[]
}

function firstRows(responses: readonly Parsed[], count: number): Row[] {
  const open: OpenPart[] = []
  const add = (part: OpenPart) => addInOrder(open, part, (a, b) => (a.id !== b.id ? a.id < b.id : a.node < b.node))
  for (const [node, { data }] of responses.entries()) add({ at: 0, id: idOf(data.items[0]), node, items: data.items })
  const rows: Row[] = []
  while (rows.length < count) {
    const top = open.pop()
    const row = top?.items[top.at]
    if (!top || !row) break
    rows.push(row)
    top.id = idOf(top.items[++top.at])
    if (top.at < top.items.length) add(top)
  }
  return rows
}

function idOf(row: Row | undefined): number {
  return row === undefined ? 0 : (row.scan as { id: number }).id
}

/** Calls all nodes at once and passes on each body when it is complete. */
async function requestAll(
  clients: readonly Client[],
  take: (node: number, body: Buffer) => void | Promise<void>,
): Promise<Omit<Run, 'body'>> {
  let [bytes, lastByte, missing] = [0, 0, clients.length]
  let used = process.cpuUsage()
  await Promise.all(
    clients.map((client, node) =>
      request(client, `/${node}/`, (body) => {
        bytes += body.length
        lastByte = performance.now()
        // A call for each response would take a tenth of the time.
        if (--missing === 0) used = process.cpuUsage()
        return take(node, body)
      }),
    ),
  )
  return { bytes, lastByte, used }
}

function request(client: Client, path: string, take: (body: Buffer) => void | Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let collected = new BodyCollector(undefined)
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_controller, status, headers) {
        if (status !== 200) throw new WrongResponseError(`${path}: status ${status}`)
        collected = new BodyCollector(Number(headers['content-length']))
      },
      onResponseData: (_controller, chunk) => collected.append(chunk),
      onResponseEnd: () => void Promise.resolve(collected.bytes()).then(take).then(resolve, reject),
      onResponseError: (_controller, error) => reject(error),
    }
    client.dispatch({ path, method: 'GET' }, handler)
  })
}
