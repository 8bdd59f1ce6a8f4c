/** `manager-edge warm`: fills the cache of a running edge before clients use it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contract } from '../catalogue/endpoint.ts'
import {
  type CredentialOptions,
  connectError,
  createEdgeClient,
  type EdgeClient,
  parseOrigin,
  readCredentials,
  usageError,
} from './edge-client.ts'
import { createProgressLine, printJson } from './output.ts'
import { CommandError, print, printError } from './terminal.ts'
import {
  type AdaptiveConcurrency,
  createAdaptiveConcurrency,
  fetchNodeLoads,
  type Outcome,
  type WarmResult,
  warmAll,
} from './warm-requests.ts'
import { fetchBusiest, readPaths } from './warm-urls.ts'

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
