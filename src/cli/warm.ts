import { setTimeout as sleep } from 'node:timers/promises'
import { exitCodes } from '../server/exit.ts'
import { askKnownPassword, CommandError, complain, fileText, print } from './terminal.ts'
import { busiest, type EdgeClient, edgeClient, listFrom } from './warm-client.ts'
import { type Outcome, type Pace, pace, readNodes, type Told, warmAll } from './warm-requests.ts'

/** `manager-edge warm`: fills the cache of a running edge before clients come. */

export interface WarmOptions {
  readonly url: string
  /** Of the operations listener, which knows how full the nodes are. */
  readonly operations?: string
  readonly from?: string
  readonly busiest?: number
  /** Print the list, fill nothing. */
  readonly list?: true
  readonly user?: string
  readonly tokenFile?: string
  readonly ca?: string
  readonly concurrency: number
}

/** Milliseconds between two looks at the nodes. */
const LOOK = 1000
/** Milliseconds for one look. */
const PATIENCE = 5000

export async function warm(options: WarmOptions): Promise<void> {
  const { concurrency, list } = options
  const url = checked(options)
  const listener = options.operations === undefined ? undefined : address('--operations', options.operations)
  const authorization = await credentials(options)
  const ca = options.ca === undefined ? {} : { ca: await fileText(options.ca) }
  const edge = edgeClient({ url, authorization, connections: concurrency, ...ca })
  const operations = listener && edgeClient({ url: listener, authorization, connections: 1, limit: PATIENCE, ...ca })
  const going = new AbortController()
  try {
    const paths =
      options.from === undefined
        ? await reached(busiest(edge, options.busiest ?? 0), url)
        : await listFrom(options.from, url)
    if (list) return paths.forEach(print)
    const shown = progress(paths.length, complain, process.stderr.isTTY === true)
    const now = () => performance.now()
    const steps = pace(concurrency)
    if (operations) await follow(operations, steps, going.signal)
    await warmAll(paths, { get: edge.get, pace: steps, sleep, now, tell: shown.tell, paused: shown.paused })
    print(shown.summary())
    if (shown.failed() > 0)
      throw new CommandError(`${shown.failed()} of ${paths.length} failed; the lines above say why`)
  } finally {
    going.abort()
    await Promise.all([edge.close(), operations?.close()])
  }
}

/** Tells the pace of the nodes, at once and from then on; rejects when they cannot be read at first. */
async function follow(operations: EdgeClient, steps: Pace, going: AbortSignal): Promise<void> {
  steps.heard(await readNodes(operations))
  const again = async (): Promise<void> => {
    for (;;) {
      await sleep(LOOK, undefined, { signal: going })
      steps.heard(await readNodes(operations).catch(() => undefined))
    }
  }
  again().catch(() => undefined)
}

function checked({ url, from, busiest, user, tokenFile }: WarmOptions): URL {
  const edge = address('--url', url)
  if ((from === undefined) === (busiest === undefined)) throw wrong('give one of --from and --busiest')
  if ((user === undefined) === (tokenFile === undefined)) throw wrong('give one of --user and --token-file')
  return edge
}

function address(option: string, text: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw wrong(`${option} ${text} is no http or https address`)
  const url = new URL(text)
  if (url.username !== '') throw wrong(`${option} holds a name; give it by --user, where no list of processes shows it`)
  if (url.pathname !== '/') throw wrong(`${option} is the address alone, without a path`)
  return url
}

function wrong(says: string): CommandError {
  return new CommandError(says, exitCodes.settings)
}

/** Never an argument: a password is typed, or the first line of standard input; a token comes from a file. */
async function credentials({ user, tokenFile }: WarmOptions): Promise<string> {
  if (tokenFile !== undefined) return `Bearer ${(await fileText(tokenFile)).trim()}`
  return `Basic ${Buffer.from(`${user}:${await askKnownPassword()}`).toString('base64')}`
}

async function reached<T>(answer: Promise<T>, { origin }: URL): Promise<T> {
  return answer.catch((fault: Error) => {
    if (fault instanceof CommandError) throw fault
    const remedy = /certificate/.test(fault.message) ? '; name the CA of its certificate with --ca' : ''
    throw new CommandError(`${origin} cannot be reached: ${fault.message}${remedy}`)
  })
}

export interface Progress {
  tell(told: Told): void
  paused(milliseconds: number): void
  summary(): string
  failed(): number
}

/** Reasons that are written out; a list of wrong URLs should not fill the screen. */
const REASONS = 20
/** Milliseconds between two lines: often enough for eyes, and seldom enough for a log. */
const EYES = 1000
const LOG = 10_000

/** One line now and then, and the reasons of what failed, all to `write`. */
export function progress(total: number, write: (line: string) => void, eyes: boolean): Progress {
  const counts: Record<Outcome, number> = { filled: 0, kept: 0, unkept: 0, failed: 0 }
  const started = performance.now()
  const every = eyes ? EYES : LOG
  let said = started
  let reasons = 0
  const done = () => counts.filled + counts.kept + counts.unkept + counts.failed
  const standing = () =>
    `${counts.filled} filled, ${counts.kept} were kept already, ${counts.unkept} are not kept, ${counts.failed} failed`
  return {
    tell: ({ path, outcome, why }) => {
      counts[outcome]++
      if (why !== undefined && reasons++ < REASONS) write(`${path}: ${outcome === 'failed' ? why : `not kept, ${why}`}`)
      if (performance.now() - said < every) return
      said = performance.now()
      write(`${done()} of ${total}: ${standing()}`)
    },
    paused: (milliseconds) => write(`the edge is at its limit; waiting ${(milliseconds / 1000).toFixed(1)} s`),
    summary: () => `${standing()}, of ${total} in ${((performance.now() - started) / 1000).toFixed(1)} s`,
    failed: () => counts.failed,
  }
}
