/** `manager-edge warm`: fills the cache of a running edge before clients use it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SNAPSHOT_MARK } from '../cache/key.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { parseName } from '../core/request.ts'
import { ownField, parseJson } from '../core/values.ts'
import { collectionContracts } from '../query/contracts.ts'
import { EXIT_CODES } from '../server/exit.ts'
import {
  type CredentialOptions,
  connectError,
  createEdgeClient,
  type EdgeClient,
  parseOrigin,
  readCredentials,
  UnauthorizedError,
  usageError,
} from './edge-client.ts'
import { createProgressLine, printJson } from './output.ts'
import { CommandError, print, printError, readTextFile } from './terminal.ts'
import {
  type AdaptiveConcurrency,
  createAdaptiveConcurrency,
  fetchNodeLoads,
  type Outcome,
  type WarmResult,
  warmAll,
} from './warm-requests.ts'

export interface WarmOptions extends CredentialOptions {
  readonly url: string
  /** URL of the operations listener, which reports the load of the nodes. */
  readonly operations?: string
  readonly from?: string
  readonly busiest?: number
  /** Print the URLs and request nothing. */
  readonly list?: true
  readonly concurrency: number
  readonly contract: Contract
  readonly json?: true
}

const NODE_LOAD_INTERVAL_MS = 1000
const NODE_LOAD_TIMEOUT_MS = 5000

export async function warm(options: WarmOptions): Promise<void> {
  const { concurrency, list, contract, json } = options
  const url = checkOptions(options)
  const operationsUrl = options.operations === undefined ? undefined : parseOrigin('--operations', options.operations)
  const credentials = await readCredentials(options)
  const edge = createEdgeClient({ ...credentials, url, contract, connections: concurrency })
  const operations =
    operationsUrl &&
    createEdgeClient({ ...credentials, url: operationsUrl, connections: 1, timeoutMs: NODE_LOAD_TIMEOUT_MS })
  const polling = new AbortController()
  try {
    const paths =
      options.from === undefined
        ? await fetchBusiest(edge, options.busiest ?? 0, contract).catch((error) => {
            throw connectError(error, url.origin)
          })
        : await readPaths(options.from, url)
    if (list) return json ? printJson({ urls: paths }) : paths.forEach(print)
    const progress = createProgress(paths.length)
    const limiter = createAdaptiveConcurrency(concurrency)
    if (operations) await pollNodeLoads(operations, limiter, polling.signal)
    await warmAll(paths, {
      get: edge.get,
      concurrency: limiter,
      sleep,
      now: () => performance.now(),
      onResult: progress.add,
      onPause: progress.pause,
    })
    progress.end()
    if (json) printJson(progress.counts)
    else print(progress.summary())
    if (progress.failed() > 0)
      throw new CommandError(`${progress.failed()} of ${paths.length} failed; the lines above say why`)
  } finally {
    polling.abort()
    await Promise.all([edge.close(), operations?.close()])
  }
}

/** Reads the load of the nodes now and then every second. Rejects if the first read fails. */
async function pollNodeLoads(operations: EdgeClient, limiter: AdaptiveConcurrency, signal: AbortSignal): Promise<void> {
  limiter.updateNodes(await fetchNodeLoads(operations))
  const poll = async (): Promise<void> => {
    for (;;) {
      await sleep(NODE_LOAD_INTERVAL_MS, undefined, { signal })
      limiter.updateNodes(await fetchNodeLoads(operations).catch(() => undefined))
    }
  }
  poll().catch(() => undefined)
}

function checkOptions({ url, from, busiest }: WarmOptions): URL {
  const edge = parseOrigin('--url', url)
  if ((from === undefined) === (busiest === undefined)) throw usageError('give one of --from and --busiest')
  return edge
}

/** Reasons that are printed, so that a list of wrong URLs does not fill the screen. */
const MAX_REASONS = 20

/** Prints the reasons of failures, and in a terminal the progress. */
function createProgress(total: number) {
  const counts: Record<Outcome, number> = { stored: 0, cached: 0, uncached: 0, failed: 0 }
  const startedAt = performance.now()
  const line = createProgressLine()
  let reasons = 0
  const done = () => counts.stored + counts.cached + counts.uncached + counts.failed
  const formatCounts = () =>
    `${counts.stored} stored, ${counts.cached} already cached, ${counts.uncached} not cacheable, ${counts.failed} failed`
  const write = (text: string): void => {
    line.clear()
    printError(text)
  }
  return {
    counts,
    add: ({ path, outcome, reason }: WarmResult): void => {
      counts[outcome]++
      if (reason !== undefined && reasons++ < MAX_REASONS)
        write(`${path}: ${outcome === 'failed' ? reason : `not cacheable, ${reason}`}`)
      line.showPart(done(), total, formatCounts())
    },
    pause: (milliseconds: number) => write(`the edge is at its limit; waiting ${(milliseconds / 1000).toFixed(1)} s`),
    /** Removes the line of progress. */
    end: line.clear,
    summary: () => `${formatCounts()}, of ${total} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
    failed: () => counts.failed,
  }
}

/** Reads the paths of a file, each once, in its order. Skips empty lines and lines that start with #. */
async function readPaths(file: string, edge: URL): Promise<readonly string[]> {
  const text = await readTextFile(file)
  const faults: string[] = []
  const paths = text.split(/\r?\n/).flatMap((line, index) => {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) return []
    const path = parsePath(entry, edge)
    if (path === undefined)
      faults.push(`${file} line ${index + 1}: write a path such as /agents, or a URL of ${edge.origin}`)
    return path ?? []
  })
  if (faults.length > 0) throw new CommandError(faults.slice(0, 10).join('\n'), EXIT_CODES.configuration)
  return [...new Set(paths)]
}

/** Returns `undefined` for a URL of another origin, because the credentials are for this edge only. */
function parsePath(entry: string, edge: URL): string | undefined {
  if (/\s/.test(entry) || !URL.canParse(entry, edge.origin)) return undefined
  const url = new URL(entry, edge)
  const isPathOrUrl = entry.startsWith('/') || /^https?:\/\//.test(entry)
  return isPathOrUrl && url.origin === edge.origin ? url.pathname + url.search : undefined
}

/** Rows of one page of `GET /cache`; the maximum of its parameter `limit` in the classic contract. */
const PAGE_SIZE = 1000
/** A snapshot is built for the second query of a collection, and then answers both. */
const SNAPSHOT_QUERIES = ['?limit=1', '?limit=2']

/** The query for the rows with details. */
const DETAILS = { classic: { details: 'true' }, newer: {} } as const

/** Returns the URLs of the stored responses of a contract with the most hits, the busiest first. */
async function fetchBusiest(edge: EdgeClient, count: number, contract: Contract): Promise<readonly string[]> {
  const { rowsName, totalName } = collectionContracts[contract]
  const names = new Set<string>()
  for (let offset = 0; names.size < count; offset += PAGE_SIZE) {
    const page = new URLSearchParams({
      ...DETAILS[contract],
      sort: '-hits',
      limit: String(PAGE_SIZE),
      offset: String(offset),
    })
    const { status, text } = await edge.getText(`/cache?${page}`)
    if (status === 401) throw new UnauthorizedError()
    const data = ownField(status === 200 ? parseJson(text) : undefined, 'data')
    const [rows, all] = [ownField(data, rowsName), ownField(data, totalName)]
    if (!Array.isArray(rows) || typeof all !== 'number') {
      const remedy = `it needs the permission cache:read, and --contract ${contract} a port for this contract`
      throw new CommandError(`GET /cache has status ${status}: ${text.slice(0, 200)}; ${remedy}`)
    }
    for (const { url } of rows) if (names.size < count && isOfContract(url, contract)) names.add(nameOfRequest(url))
    if (offset + PAGE_SIZE >= all) break
  }
  return [...names].flatMap((name) => urlsOf(parseName(name, contract).path))
}

/** Each contract lists the stored responses of both. */
function isOfContract(url: unknown, contract: Contract): url is string {
  return typeof url === 'string' && parseName(url, contract).contract === contract
}

/** Removes the name of the node from a part of a joined response: clients request the whole. */
function nameOfRequest(url: string): string {
  return url.endsWith(SNAPSHOT_MARK) ? url : url.replace(/#.*/, '')
}

function urlsOf(path: string): readonly string[] {
  if (!path.endsWith(SNAPSHOT_MARK)) return [path]
  const collection = path.slice(0, -SNAPSHOT_MARK.length)
  return SNAPSHOT_QUERIES.map((query) => collection + query)
}
