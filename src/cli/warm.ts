/** `manager-edge warm`: fills the cache of a running edge before clients use it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT_CODES } from '../server/exit.ts'
import { CommandError, print, printError, promptPassword, readTextFile } from './terminal.ts'
import { createEdgeClient, type EdgeClient, fetchBusiest, readPaths } from './warm-client.ts'
import {
  type AdaptiveConcurrency,
  createAdaptiveConcurrency,
  fetchNodeLoads,
  type Outcome,
  type WarmResult,
  warmAll,
} from './warm-requests.ts'

export interface WarmOptions {
  readonly url: string
  /** URL of the operations listener, which reports the load of the nodes. */
  readonly operations?: string
  readonly from?: string
  readonly busiest?: number
  /** Print the URLs and request nothing. */
  readonly list?: true
  readonly user?: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly concurrency: number
}

const NODE_LOAD_INTERVAL_MS = 1000
const NODE_LOAD_TIMEOUT_MS = 5000

export async function warm(options: WarmOptions): Promise<void> {
  const { concurrency, list } = options
  const url = checkOptions(options)
  const operationsUrl = options.operations === undefined ? undefined : parseOrigin('--operations', options.operations)
  const authorization = await readAuthorization(options)
  const tls = options.ca === undefined ? {} : { ca: await readTextFile(options.ca) }
  const edge = createEdgeClient({ url, authorization, connections: concurrency, ...tls })
  const operations =
    operationsUrl &&
    createEdgeClient({ url: operationsUrl, authorization, connections: 1, timeoutMs: NODE_LOAD_TIMEOUT_MS, ...tls })
  const polling = new AbortController()
  try {
    const paths =
      options.from === undefined
        ? await explainConnectError(fetchBusiest(edge, options.busiest ?? 0), url)
        : await readPaths(options.from, url)
    if (list) return paths.forEach(print)
    const progress = createProgress(paths.length, printError, process.stderr.isTTY === true)
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
    print(progress.summary())
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

function checkOptions({ url, from, busiest, user, tokenFile }: WarmOptions): URL {
  const edge = parseOrigin('--url', url)
  if ((from === undefined) === (busiest === undefined)) throw usageError('give one of --from and --busiest')
  if ((user === undefined) === (tokenFile === undefined)) throw usageError('give one of --user and --token-file')
  return edge
}

function parseOrigin(option: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError(`${option} ${text} is not an http or https URL`)
  const url = new URL(text)
  if (url.username !== '')
    throw usageError(`${option} contains a user name; use --user, because the list of processes shows arguments`)
  if (url.pathname !== '/') throw usageError(`${option} must have no path`)
  return url
}

function usageError(message: string): CommandError {
  return new CommandError(message, EXIT_CODES.configuration)
}

/** A password is prompted or the first line of standard input; a token comes from a file. Neither is an argument. */
async function readAuthorization({ user, tokenFile }: WarmOptions): Promise<string> {
  if (tokenFile !== undefined) return `Bearer ${(await readTextFile(tokenFile)).trim()}`
  return `Basic ${Buffer.from(`${user}:${await promptPassword()}`).toString('base64')}`
}

async function explainConnectError<T>(result: Promise<T>, { origin }: URL): Promise<T> {
  return result.catch((error: Error) => {
    if (error instanceof CommandError) throw error
    const remedy = /certificate/.test(error.message) ? '; name the CA of its certificate with --ca' : ''
    throw new CommandError(`${origin} cannot be reached: ${error.message}${remedy}`)
  })
}

interface Progress {
  add(result: WarmResult): void
  pause(milliseconds: number): void
  summary(): string
  failed(): number
}

/** Reasons that are printed, so that a list of wrong URLs does not fill the screen. */
const MAX_REASONS = 20
const TERMINAL_INTERVAL_MS = 1000
const LOG_INTERVAL_MS = 10_000

/** Prints the progress and the reasons of failures. In a terminal it prints more often than into a log. */
function createProgress(total: number, write: (line: string) => void, isTerminal: boolean): Progress {
  const counts: Record<Outcome, number> = { stored: 0, cached: 0, uncached: 0, failed: 0 }
  const startedAt = performance.now()
  const interval = isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS
  let printedAt = startedAt
  let reasons = 0
  const done = () => counts.stored + counts.cached + counts.uncached + counts.failed
  const formatCounts = () =>
    `${counts.stored} stored, ${counts.cached} already cached, ${counts.uncached} not cacheable, ${counts.failed} failed`
  return {
    add: ({ path, outcome, reason }) => {
      counts[outcome]++
      if (reason !== undefined && reasons++ < MAX_REASONS)
        write(`${path}: ${outcome === 'failed' ? reason : `not cacheable, ${reason}`}`)
      if (performance.now() - printedAt < interval) return
      printedAt = performance.now()
      write(`${done()} of ${total}: ${formatCounts()}`)
    },
    pause: (milliseconds) => write(`the edge is at its limit; waiting ${(milliseconds / 1000).toFixed(1)} s`),
    summary: () => `${formatCounts()}, of ${total} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
    failed: () => counts.failed,
  }
}
