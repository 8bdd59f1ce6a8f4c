/**
 * Records a run of real replicas as events in their order: the commands that Redis executed (MONITOR), the actions of the
 * upstream, and the requests of the clients. All processes run on one machine, so their times are of one clock.
 */
import { type RecordedCommand, recordCommands } from '../../support/redis-monitor.ts'
import type { Outcome } from '../coherence/load.ts'
import type { Upstream, UpstreamAction } from '../coherence/processes.ts'

/** A request of a client, and its outcome. */
export interface ClientRequest {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  readonly path: string
  /** URL of the replica. */
  readonly url: string
  readonly begin: number
  readonly end: number
  /** 0: there was no response. */
  readonly status: number
  /** Member `error` of the response; 0: none. */
  readonly code: number
  /** The value of a response with status 200. */
  readonly value?: number
  /** Header `x-request-id` of the response. */
  readonly id?: string
}

/** `at`: milliseconds since 1970. Replicas have the names that they have in Redis. */
export type TraceEvent = { readonly at: number } & (
  | { readonly kind: 'heartbeat'; readonly replica: string; readonly lease: number }
  | { readonly kind: 'change'; readonly writer: string; readonly change: EpochChange; readonly sequence: number }
  | { readonly kind: 'acknowledgement'; readonly replica: string; readonly writer: string; readonly sequence: number }
  | { readonly kind: 'lookup'; readonly replica: string; readonly key: string }
  | ({ readonly kind: 'node' } & UpstreamAction)
  | { readonly kind: 'begin' | 'end'; readonly request: ClientRequest }
)

/** The last argument of the script that changes epochs and fences. */
export interface EpochChange {
  readonly bump: readonly string[]
  readonly fence: readonly string[]
  readonly lift: readonly string[]
  readonly id: string
}

export interface Recording {
  readonly events: readonly TraceEvent[]
}

export interface Recorder {
  /** Takes the outcome of a request. Only requests for one register are recorded. */
  add(outcome: Outcome): void
  stop(): Promise<Recording>
}

export async function startRecording(redisPort: number, upstream: Upstream): Promise<Recorder> {
  const requests: ClientRequest[] = []
  let end = () => {}
  let recorded: Promise<RecordedCommand[]> = Promise.resolve([])
  await new Promise<void>((started, failed) => {
    recorded = recordCommands(redisPort, () => {
      started()
      return new Promise<void>((resolve) => {
        end = resolve
      })
    })
    recorded.catch(failed)
  })
  await upstream.record()
  return {
    add: (outcome) => {
      const request = requestOf(outcome)
      if (request !== undefined) requests.push(request)
    },
    stop: async () => {
      end()
      const [commands, actions] = await Promise.all([recorded, upstream.record()])
      const events: TraceEvent[] = [
        ...eventsOf(commands),
        ...actions.map((action) => ({ kind: 'node', ...action }) as const),
        ...requests.flatMap((request) => [
          { kind: 'begin', at: request.begin, request } as const,
          { kind: 'end', at: request.end, request } as const,
        ]),
      ]
      return { events: events.sort((one, other) => one.at - other.at) }
    },
  }
}

function requestOf({ by, method, path, status, headers, text, begin, end }: Outcome): ClientRequest | undefined {
  const key = /^\/agents\/(\d+)(?:\/group\/\w+)?$/.exec(path)?.[1]
  if (key === undefined) return undefined
  const id = headers['x-request-id']
  return {
    method,
    key,
    path,
    url: by,
    begin: performance.timeOrigin + begin,
    end: performance.timeOrigin + end,
    status,
    code: Number(/^\{"error":(\d+)/.exec(text)?.[1] ?? 0),
    ...(status === 200 && { value: Number(/value"?:? ?(\d+)/.exec(text)?.[1]) }),
    ...(typeof id === 'string' && { id }),
  }
}

const HASH = 'edge:{e}'
const TO_REPLICA = `${HASH}:to:`

/** The events of the coherence protocol. Its scripts have the hash of epochs as their only key. */
function* eventsOf(commands: readonly RecordedCommand[]): Generator<TraceEvent> {
  const replicaAt = new Map<string, string>()
  for (const { words, from } of commands) {
    if (isScript(words) && words[5]?.startsWith(TO_REPLICA)) replicaAt.set(from, words[6] ?? '')
  }
  for (const [index, { words, at, from, isFromScript }] of commands.entries()) {
    if (words[0] === 'publish' && !isFromScript && words[1]?.startsWith(TO_REPLICA)) {
      const { a: replica, q } = parse(words[2]) as { a: string; q: string }
      const writer = words[1].slice(TO_REPLICA.length)
      yield { kind: 'acknowledgement', at, replica, writer, sequence: Number(q) }
    }
    // A script that Redis does not know is sent again as a whole: only what calls commands has run.
    if (!isScript(words) || !commands[index + 1]?.isFromScript) continue
    const args = words.slice(4)
    if (args[1]?.startsWith(TO_REPLICA)) yield { kind: 'heartbeat', at, replica: args[2] ?? '', lease: Number(args[3]) }
    else if (args[1] === `${HASH}:raised`) {
      const change = parse(args[3]) as EpochChange
      yield { kind: 'change', at, writer: args[2] ?? '', change, sequence: sequenceAfter(commands, index) }
    } else {
      // One command reads the epochs of all lookups of a turn.
      for (const tag of args) {
        const key = /^agent:(\d+)$/.exec(tag)?.[1]
        if (key !== undefined) yield { kind: 'lookup', at, replica: replicaAt.get(from) ?? '', key }
      }
    }
  }
}

function isScript([command = '', , keys, key]: readonly string[]): boolean {
  return (command === 'evalsha' || command === 'eval') && keys === '1' && key === HASH
}

/** Returns the sequence number of the invalidation that the script at `index` published; 0: none. */
function sequenceAfter(commands: readonly RecordedCommand[], index: number): number {
  for (let at = index + 1; commands[at]?.isFromScript; at += 1) {
    const { words } = commands[at] as RecordedCommand
    if (words[0] === 'publish') return Number((parse(words[2]) as { q: string }).q)
  }
  return 0
}

/** MONITOR escapes the quotes of JSON. */
function parse(text = ''): unknown {
  return JSON.parse(text.replaceAll('\\"', '"'))
}
